package import Entitlements
package import JSON
package import Time

/// What a signed text is, who signed it, and everything that is wrong with it: for people who look into a case.
///
/// It tells of payloads that failed verification too, so it is no source of facts: nothing in it leads to an
/// `Observation`.
package struct VerificationReport: Sendable {
    /// What the signed data is expected to be for; what is nil is not checked.
    package struct Expectation: Sendable {
        package var bundleID: String?
        package var appAppleID: Int64?
        package var environment: StoreEnvironment?

        package init(bundleID: String? = nil, appAppleID: Int64? = nil, environment: StoreEnvironment? = nil) {
            self.bundleID = bundleID
            self.appAppleID = appAppleID
            self.environment = environment
        }
    }

    /// One JWS.
    package struct Part: Sendable {
        /// Where in its envelope it was found, such as `data.signedTransactionInfo`; nil for the outermost.
        package let place: String?
        package internal(set) var kind: PayloadKind?
        package internal(set) var payload: JSONValue?
        /// The certificates in the header; of a chain that was verified, the last is the trusted root instead.
        package internal(set) var certificates: [VerifiedChain.Link] = []
        /// The chain that was verified; nil when none was.
        package internal(set) var chain: VerifiedChain?
        /// Whether those of `certificates` that were asked about are revoked; empty unless somebody asked.
        package internal(set) var revocation: [RevocationStatus] = []
        package internal(set) var isTrusted = false
        package internal(set) var isApples = false
        package internal(set) var problems: [VerificationFailure] = []
        package internal(set) var warnings: [PayloadWarning] = []

        init(place: String?) { self.place = place }
    }

    package internal(set) var parts: [Part]

    package var isFine: Bool { !parts.isEmpty && parts.allSatisfy(\.problems.isEmpty) }

    /// Looks at a notification body or at a bare JWS of any kind; white space around it does not matter.
    package init(
        of bytes: [UInt8], verifier: JWSVerifier, expecting expectation: Expectation = Expectation(), now: Timestamp
    ) {
        let inspection = Inspection(verifier: verifier, expectation: expectation, now: now)
        parts = inspection.parts(of: bytes)
    }
}

/// The steps that lead to a report.
private struct Inspection {
    let verifier: JWSVerifier
    let expectation: VerificationReport.Expectation
    let now: Timestamp

    typealias Part = VerificationReport.Part

    func parts(of bytes: [UInt8]) -> [Part] {
        let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let start = bytes.firstIndex { !isSpace($0) } ?? bytes.endIndex
        let end = bytes.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start
        var jws = bytes[start..<end]
        if jws.first == UInt8(ascii: "{") {
            do { jws = try SignedBody.signedPayload(of: Array(jws)) } catch {
                var part = Part(place: nil)
                part.problems = [error]
                return [part]
            }
        }
        var outer = part(jws, place: nil)
        guard outer.kind == .notification else {
            outer.problems += failures { () throws(VerificationFailure) in try checkIdentity(of: outer) }
            return [outer]
        }
        let nested = nestedTexts(in: outer).map { part(Array($0.text.utf8)[...], place: $0.place) }
        var parts = [outer] + nested
        if outer.problems.isEmpty { addEnvelopeProblems(jws, to: &parts) }
        return parts
    }

    /// What can be said of one JWS without regard to anything around it.
    private func part(_ jws: ArraySlice<UInt8>, place: String?) -> Part {
        var part = Part(place: place)
        if let parsed = CompactJWS(jws) {
            if let bytes = Base64URL.decode(parsed.payload) {
                part.kind = PayloadKind(ofJSON: bytes)
                part.payload = try? JSONValue.parse(bytes)
            }
            part.certificates = certificates(inHeader: parsed.header)
        }
        do {
            let (chain, warnings) = try verify(jws, kind: part.kind)
            part.chain = chain
            part.certificates = chain.links
            part.isTrusted = true
            part.isApples = chain.isApples
            part.warnings = warnings
        } catch {
            part.problems.append(error)
        }
        return part
    }

    private func verify(
        _ jws: ArraySlice<UInt8>, kind: PayloadKind?
    ) throws(VerificationFailure) -> (VerifiedChain, [PayloadWarning]) {
        switch kind {
        case .notification: return try verify(jws, as: NotificationPayload.self)
        case .transaction:
            let verified = try verifier.verify(jws, as: TransactionPayload.self, now: now)
            _ = try verified.fact()
            return (verified.chain, verified.payload.warnings)
        case .renewalInfo:
            let verified = try verifier.verify(jws, as: RenewalInfoPayload.self, now: now)
            _ = try verified.fact()
            return (verified.chain, verified.payload.warnings)
        case .appTransaction: return try verify(jws, as: AppTransactionPayload.self)
        case .realtimeRequest: return try verify(jws, as: RealtimeRequestPayload.self)
        case nil:
            _ = try verifier.verifySignature(jws, part: .payload)
            throw VerificationFailure(
                .wrongKind, .payload, "the signature is good, but the payload is of no known kind")
        }
    }

    private func verify<Payload: SignedPayload>(
        _ jws: ArraySlice<UInt8>, as kind: Payload.Type
    ) throws(VerificationFailure) -> (VerifiedChain, [PayloadWarning]) {
        let verified = try verifier.verify(jws, as: kind, now: now)
        return (verified.chain, verified.payload.warnings)
    }

    private func certificates(inHeader text: ArraySlice<UInt8>) -> [VerifiedChain.Link] {
        guard let json = Base64URL.decode(text), let header = try? JWSHeader(json) else { return [] }
        return (header.x5c ?? []).prefix(8).compactMap { Base64.decode($0).flatMap(Certificate.init(der:)) }
            .map(VerifiedChain.Link.init)
    }

    private func nestedTexts(in outer: Part) -> [(place: String, text: String)] {
        var texts: [(String, String)] = []
        for member in outer.payload?.object?.members ?? [] {
            for inner in member.value.object?.members ?? [] where inner.key.hasPrefix("signed") {
                if let text = inner.value.string { texts.append(("\(member.key).\(inner.key)", text)) }
            }
        }
        return texts
    }

    // MARK: Whose it is

    /// Verifies the notification as the consumer would, for the app that was asked for or else the one it names.
    private func addEnvelopeProblems(_ jws: ArraySlice<UInt8>, to parts: inout [Part]) {
        guard let json = CompactJWS(jws).flatMap({ Base64URL.decode($0.payload) }),
            let payload = try? NotificationPayload(json: json)
        else { return }
        let identity = AppIdentity(
            bundleID: expectation.bundleID ?? payload.origin.bundleID ?? "",
            appAppleID: expectation.appAppleID ?? payload.origin.appAppleID)
        let environments = expectation.environment.map { [$0] } ?? StoreEnvironment.allCases
        for failure in failures({ () throws(VerificationFailure) in
            _ = try NotificationVerifier(verifier).verify(
                signedPayload: jws, for: identity, now: now, environments: Set(environments))
        }) {
            let index = failure.isNested ? parts.firstIndex { $0.kind?.part == failure.part && $0.place != nil } : 0
            let isKnown = parts.contains { $0.problems.contains { $0.code == failure.code && $0.part == failure.part } }
            if !isKnown { parts[index ?? 0].problems.append(failure) }
        }
    }

    private func checkIdentity(of part: Part) throws(VerificationFailure) {
        guard let kind = part.kind, let payload = part.payload else { return }
        let identity = AppIdentity(
            bundleID: expectation.bundleID ?? payload["bundleId"]?.string ?? "",
            appAppleID: expectation.appAppleID ?? payload["appAppleId"]?.int64)
        let name = kind == .appTransaction ? "receiptType" : "environment"
        let environment = try identity.environment(
            payload[name]?.string.map(Raw.init(raw:)), part: kind.part)
        if let expected = expectation.environment, expected != environment {
            throw VerificationFailure(
                .wrongEnvironment, kind.part, "it is from \(environment.rawValue), not from \(expected.rawValue)")
        }
        if kind == .transaction || kind == .appTransaction {
            try identity.checkBundle(payload["bundleId"]?.string, part: kind.part)
        }
        if kind == .appTransaction || kind == .realtimeRequest {
            try identity.checkAppleID(payload["appAppleId"]?.int64, in: environment, part: kind.part)
        }
    }

    private func failures(_ body: () throws(VerificationFailure) -> Void) -> [VerificationFailure] {
        do { try body() } catch { return [error] }
        return []
    }
}
