internal import Entitlements

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
    /// Reads Apple's name of an environment. Data of Xcode and of local testing is signed by whoever holds the
    /// computer, so those environments do not exist for anything that came over a network (invariant 6).
    func environment(
        _ named: Raw<PayloadEnvironment>?, part: VerificationFailure.Part
    ) throws(VerificationFailure) -> StoreEnvironment {
        guard let named else { throw VerificationFailure(.wrongEnvironment, part, "no environment is named") }
        guard let environment = StoreEnvironment(named) else {
            throw VerificationFailure(
                .wrongEnvironment, part, "the environment is \(quoted(named.raw)), neither Production nor Sandbox")
        }
        return environment
    }

    func checkBundle(_ named: String?, part: VerificationFailure.Part) throws(VerificationFailure) {
        guard let named else { throw VerificationFailure(.wrongApp, part, "no bundle id is named") }
        guard named == bundleID else {
            throw VerificationFailure(.wrongApp, part, "it is for \(quoted(named)), not for \(quoted(bundleID))")
        }
    }

    func checkAppleID(
        _ named: Int64?, in environment: StoreEnvironment, part: VerificationFailure.Part
    ) throws(VerificationFailure) {
        guard environment == .production else { return }
        guard let appAppleID else {
            throw VerificationFailure(.wrongApp, part, "it is from production, and the app's Apple id is not set")
        }
        guard let named else { throw VerificationFailure(.wrongApp, part, "no app Apple id is named") }
        guard named == appAppleID else {
            throw VerificationFailure(.wrongApp, part, "it is for the app \(named), not for \(appAppleID)")
        }
    }
}

/// Foreign text in a sentence: in quotation marks, control characters escaped, of bounded length.
func quoted(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(100).map { $0.escaped(asASCII: false) }.joined()
    return "\"\(shown)\(text.unicodeScalars.count > 100 ? "…" : "")\""
}
