package import Entitlements
package import JSON
internal import Runtime

/// Which app signed data must be for.
package struct AppIdentity: Sendable, Hashable {
    package var bundleID: String
    /// The app's number in the App Store. Without it, nothing from production is accepted: the sandbox has none.
    package var appAppleID: Int64?

    package init(bundleID: String, appAppleID: Int64?) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
    }
}

extension AppIdentity {
    /// All that does not fit in what a payload says of whose it is; what counts most comes first.
    ///
    /// Data of Xcode and of local testing is signed by whoever holds the computer, so those environments do not exist
    /// for anything that came over a network (invariant 6). Apple names the app's number in production only.
    func mistakes(
        in origin: PayloadOrigin, of kind: PayloadKind, environments: Set<StoreEnvironment>
    ) -> [VerificationFailure] {
        var mistakes: [VerificationFailure] = []
        func add(_ code: VerificationFailure.Code, _ sentence: String) {
            mistakes.append(VerificationFailure(code, kind.part, sentence))
        }
        if kind.namesBundle, origin.bundleID != bundleID {
            add(
                .wrongApp,
                origin.bundleID.map { "it is for \(quoted($0)), not for \(quoted(bundleID))" }
                    ?? "no bundle id is named")
        }
        guard let environment = StoreEnvironment(origin.environment) else {
            add(
                .wrongEnvironment,
                origin.environment.map { "the environment is \(quoted($0.raw)), neither Production nor Sandbox" }
                    ?? "no environment is named")
            return mistakes
        }
        if kind.namesAppleID, environment == .production {
            switch (origin.appAppleID, appAppleID) {
            case (let named?, let expected?) where named == expected: break
            case (nil, _): add(.wrongApp, "no app Apple id is named")
            case (_, nil): add(.wrongApp, "it is from production, and the app's Apple id is not set (appAppleId)")
            case (let named?, let expected?): add(.wrongApp, "it is for the app \(named), not for \(expected)")
            }
        }
        if !environments.contains(environment) {
            add(.wrongEnvironment, "it is from \(environment.rawValue), which is not allowed here")
        }
        return mistakes
    }

    /// All that does not fit in what an answer of the Server API says of itself, as far as it says anything.
    package func mistakes(inAnswer answer: JSONValue, from environment: StoreEnvironment) -> [String] {
        func given(_ name: String) -> JSONValue? { answer[name].flatMap { $0.isNull ? nil : $0 } }
        func shown(_ value: JSONValue) -> String {
            if let text = value.string { return quoted(text) }
            var writer = JSONWriter()
            writer.value(value)
            return writer.text.printable(limit: 100)
        }
        var mistakes: [String] = []
        if let named = given("bundleId"), named.string != bundleID {
            mistakes.append("it is for \(shown(named)), not for \(quoted(bundleID))")
        }
        if environment == .production, let named = given("appAppleId"), let appAppleID, named.int64 != appAppleID {
            mistakes.append("it is for the app \(shown(named)), not for \(appAppleID)")
        }
        if let named = given("environment"),
            named.string.map({ StoreEnvironment(Raw(raw: $0)) == environment }) != true
        {
            mistakes.append("it is from \(shown(named)), and \(environment.appleName) was asked")
        }
        return mistakes
    }

    /// All in which a nested part contradicts an envelope for this app from `environment`.
    func disagreements(
        in origin: PayloadOrigin, of kind: PayloadKind, environment: StoreEnvironment
    ) -> [VerificationFailure] {
        var found: [VerificationFailure] = []
        func add(_ what: String, _ its: String, _ envelopes: String) {
            found.append(
                VerificationFailure(
                    .disagreement, kind.part, "its \(what) is \(its), the envelope's is \(envelopes)", isNested: true))
        }
        if StoreEnvironment(origin.environment) != environment {
            add("environment", origin.environment.map { quoted($0.raw) } ?? "not named", environment.appleName)
        }
        // Old non-consumables lack it; the envelope vouches for them.
        let mayLackBundle = kind == .transaction && origin.bundleID == nil
        if kind.namesBundle, !mayLackBundle, origin.bundleID != bundleID {
            add("bundle id", origin.bundleID.map(quoted) ?? "not named", quoted(bundleID))
        }
        if kind.namesAppleID, environment == .production, let appAppleID, origin.appAppleID != appAppleID {
            add("app Apple id", origin.appAppleID.map(String.init) ?? "not named", String(appAppleID))
        }
        return found
    }
}

extension PayloadKind {
    var namesBundle: Bool { self == .notification || self == .transaction || self == .appTransaction }
    var namesAppleID: Bool { self == .notification || self == .appTransaction || self == .realtimeRequest }
}

/// Foreign text in a sentence: in quotation marks, what is not to be shown escaped, of bounded length.
func quoted(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(100).map { $0.escaped(asASCII: !$0.isPrintable) }.joined()
    return "\"\(shown)\(text.unicodeScalars.count > 100 ? "…" : "")\""
}
