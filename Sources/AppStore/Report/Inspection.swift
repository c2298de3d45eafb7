internal import Entitlements
internal import JSON
internal import Time

/// The steps that lead to a report.
struct Inspection {
    enum Source {
        case network(JWSVerifier)
        /// Xcode's own signatures, which prove nothing.
        case localTest
    }

    let source: Source
    let expectation: VerificationReport.Expectation
    let now: Timestamp

    typealias Part = VerificationReport.Part
    typealias Effect = VerificationReport.Effect

    /// A part, and what was read of it, verified or not.
    private struct Look {
        var part: Part
        var payload: (any SignedPayload)?

        mutating func add(_ failures: [VerificationFailure]) {
            let failures = part.place == nil ? failures : failures.map(\.nested)
            for failure in failures where !part.problems.contains(failure) { part.problems.append(failure) }
        }
    }

    func look(at bytes: [UInt8]) -> (parts: [Part], effect: Effect?) {
        let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let start = bytes.firstIndex { !isSpace($0) } ?? bytes.endIndex
        let end = bytes.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start
        var jws = bytes[start..<end]
        if isReceipt(bytes) {
            var part = Part(place: nil)
            part.problems = [
                VerificationFailure(
                    .malformed, .payload, "it looks like a receipt, not like a JWS: see holdfast receipt")
            ]
            return ([part], nil)
        }
        if jws.first == UInt8(ascii: "{") {
            do { jws = try SignedBody.signedPayload(of: Array(jws)) } catch {
                var part = Part(place: nil)
                part.problems = [error]
                return ([part], nil)
            }
        }
        var outer = look(at: jws, place: nil)
        guard let envelope = outer.payload as? NotificationPayload else {
            outer.add(mistakes(of: outer.payload))
            let isFine = outer.part.problems.isEmpty
            return ([outer.part], isFine ? effect(ofSingle: jws, outer.payload) : nil)
        }
        outer.add(mistakes(of: envelope))
        var nested = nestedTexts(in: outer.part).map { look(at: Array($0.text.utf8)[...], place: $0.place) }
        for index in nested.indices {
            expectKind(at: &nested[index])
            nested[index].add(disagreements(of: nested[index].payload, with: envelope))
            nested[index].add(mistakes(of: nested[index].payload, in: envelope))
        }
        addDisagreementAboutLineage(to: &nested)
        let parts = [outer.part] + nested.map(\.part)
        let isFine = parts.allSatisfy(\.problems.isEmpty)
        return (parts, isFine ? effect(ofNotification: jws, envelope) : nil)
    }

    /// Whether it is what `holdfast receipt` reads, as it lies on a device or in base64, once or twice.
    private func isReceipt(_ bytes: [UInt8]) -> Bool {
        do throws(ReceiptFailure) {
            switch try ReceiptText.read(bytes) {
            case .transactionReceipt: return true
            // Other things begin as DER does; a CMS message names its type at once (1.2.840.113549.1.7).
            case .container(let der):
                return der.prefix(32).firstRange(of: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07]) != nil
            }
        } catch { return error.code == .doublyEncoded }
    }

    // MARK: One JWS without regard to anything around it

    private func look(at jws: ArraySlice<UInt8>, place: String?) -> Look {
        var look = Look(part: Part(place: place))
        if let parsed = CompactJWS(jws) {
            if let bytes = Base64URL.decode(parsed.payload) {
                look.part.kind = PayloadKind(ofJSON: bytes)
                look.part.payload = try? JSONValue.parse(bytes)
                if let type = look.part.kind?.payloadType {
                    look.payload = try? type.init(json: bytes)
                    look.part.fields = (try? type.fields(of: bytes)) ?? []
                    look.part.warnings = look.payload?.warnings ?? []
                }
            }
            look.part.certificates = certificates(inHeader: parsed.header)
        }
        if look.part.certificates.count == 1 { look.part.signer = .localTest }
        do throws(VerificationFailure) {
            switch source {
            case .network(let verifier):
                let chain = try chain(of: jws, kind: look.part.kind, by: verifier)
                look.part.chain = chain
                look.part.certificates = chain.links
                look.part.signer = chain.isApples ? .apple : .givenRoot
            case .localTest: try checkLocalTest(jws, kind: look.part.kind)
            }
            look.add(look.payload.map(\.damage) ?? [])
        } catch {
            look.add([error])
        }
        return look
    }

    private func chain(
        of jws: ArraySlice<UInt8>, kind: PayloadKind?, by verifier: JWSVerifier
    ) throws(VerificationFailure) -> VerifiedChain {
        guard let kind else {
            let bytes = try verifier.verifySignature(jws, part: .payload).payload
            throw Self.failure(ofUnknown: bytes)
        }
        return try chain(of: jws, as: kind.payloadType, by: verifier)
    }

    /// Why a payload that was properly signed is of no kind.
    private static func failure(ofUnknown payload: [UInt8]) -> VerificationFailure {
        do throws(JSONError) {
            let problem = try JSONValue.parse(payload).object == nil ? "is no JSON object" : "is of no known kind"
            return VerificationFailure(.wrongKind, .payload, "the signature is good, but the payload \(problem)")
        } catch {
            return VerificationFailure(
                .payload, .payload, "the signature is good, but the payload is not JSON: \(error)")
        }
    }

    private func chain<Payload: SignedPayload>(
        of jws: ArraySlice<UInt8>, as type: Payload.Type, by verifier: JWSVerifier
    ) throws(VerificationFailure) -> VerifiedChain {
        try verifier.verify(jws, as: type, now: now).chain
    }

    private func checkLocalTest(_ jws: ArraySlice<UInt8>, kind: PayloadKind?) throws(VerificationFailure) {
        // Which kind does not matter for what is no payload at all: it fails before.
        let kind = kind ?? .transaction
        try checkLocalTest(jws, as: kind.payloadType)
    }

    private func checkLocalTest<Payload: SignedPayload>(
        _ jws: ArraySlice<UInt8>, as type: Payload.Type
    ) throws(VerificationFailure) {
        _ = try XcodeSigned(jws, as: type)
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

    private var environments: Set<StoreEnvironment> {
        Set(expectation.environment.map { [$0] } ?? StoreEnvironment.allCases)
    }

    /// The app that was asked for, or else the one that is named.
    private func identity(_ origin: PayloadOrigin) -> AppIdentity {
        AppIdentity(
            bundleID: expectation.bundleID ?? origin.bundleID ?? "",
            appAppleID: expectation.appAppleID ?? origin.appAppleID)
    }

    /// What does not fit the expectation; a nested transaction may leave its bundle id to the envelope.
    private func mistakes(
        of payload: (any SignedPayload)?, in envelope: NotificationPayload? = nil
    ) -> [VerificationFailure] {
        guard let payload else { return [] }
        let kind = type(of: payload).kind
        var origin = payload.origin
        if kind == .transaction, origin.bundleID == nil { origin.bundleID = envelope?.origin.bundleID }
        guard case .network = source else {
            // Local tests have environments of their own, and no app ids.
            return identity(origin).mistakes(in: origin, of: kind, environments: environments)
                .filter { $0.code == .wrongApp }
        }
        if let notification = payload as? NotificationPayload {
            return NotificationVerifier.mistakes(
                in: notification, for: identity(origin), environments: environments)
        }
        return identity(origin).mistakes(in: origin, of: kind, environments: environments)
    }

    private func disagreements(
        of payload: (any SignedPayload)?, with envelope: NotificationPayload
    ) -> [VerificationFailure] {
        guard let payload, let environment = StoreEnvironment(envelope.origin.environment),
            let bundleID = envelope.origin.bundleID
        else { return [] }
        return AppIdentity(bundleID: bundleID, appAppleID: envelope.origin.appAppleID)
            .disagreements(in: payload.origin, of: type(of: payload).kind, environment: environment)
    }

    /// What stands in a place that is known must be of the kind that belongs there.
    private func expectKind(at look: inout Look) {
        let expected: [String: PayloadKind] = [
            "data.signedTransactionInfo": .transaction, "data.signedRenewalInfo": .renewalInfo,
            "appData.signedAppTransactionInfo": .appTransaction,
        ]
        guard let place = look.part.place, let wanted = expected[place], let found = look.part.kind, found != wanted
        else { return }
        look.add([
            VerificationFailure(.wrongKind, wanted.part, "expected \(wanted.phrase), but this is \(found.phrase)")
        ])
    }

    private func addDisagreementAboutLineage(to nested: inout [Look]) {
        let transactions = nested.compactMap { ($0.payload as? TransactionPayload)?.originalTransactionID }
        for index in nested.indices {
            guard let renewal = (nested[index].payload as? RenewalInfoPayload)?.originalTransactionID,
                let transaction = transactions.first,
                let failure = NotificationVerifier.disagreement(renewalInfo: renewal, transaction: transaction)
            else { continue }
            nested[index].add([failure])
        }
    }

    // MARK: What it is about

    private func effect(ofNotification jws: ArraySlice<UInt8>, _ envelope: NotificationPayload) -> Effect? {
        guard case .network(let verifier) = source,
            let verified = try? NotificationVerifier(verifier).verify(
                signedPayload: jws, for: identity(envelope.origin), now: now, environments: environments)
        else { return nil }
        return verified.observation(app: AppID("")).map {
            .applied($0.lineage.environment, originalTransactionID: $0.lineage.originalTransactionID)
        } ?? .noted
    }

    private func effect(ofSingle jws: ArraySlice<UInt8>, _ payload: (any SignedPayload)?) -> Effect? {
        guard case .network(let verifier) = source, let payload else { return nil }
        let single = SignedDataVerifier(verifier)
        let identity = identity(payload.origin)
        switch type(of: payload).kind {
        case .transaction:
            return
                (try? single.observation(
                    transaction: jws, app: AppID(""), identity: identity, source: .device, now: now)).map {
                    .transaction($0.lineage.environment, originalTransactionID: $0.lineage.originalTransactionID)
                }
        case .renewalInfo:
            return (try? single.verify(jws, as: RenewalInfoPayload.self, for: identity, now: now)).map {
                .renewalInfo($0.environment, originalTransactionID: $0.payload.originalTransactionID ?? "")
            }
        case .notification, .appTransaction, .realtimeRequest: return nil
        }
    }
}
