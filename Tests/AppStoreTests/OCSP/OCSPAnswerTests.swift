import AppStore
import HTTP
import TestSupport
import Testing
import Time

/// Answers that are wrong in one respect each.
@Suite("Answers of an OCSP responder", .timeLimit(.minutes(6))) struct OCSPAnswerTests {
    /// The leaf's status when the answers are changed so; `answer` replaces the whole HTTP answer.
    private func status(
        _ change: @escaping @Sendable (inout OCSPResponse, ScriptedResponder) throws -> Void = { _, _ in },
        settings: (inout RevocationSettings) -> Void = { _ in }
    ) async throws -> RevocationStatus? {
        let responder = try ScriptedResponder { response, asked, responder in
            if asked.isAboutLeaf { try change(&response, responder) }
        }
        return await responder.checker(.hard, settings).statuses(of: responder.chain).first
    }

    private func failure(_ status: RevocationStatus?) -> OCSPFailure.Code? {
        switch status {
        case .unavailable(let failure)?, .untrustworthy(let failure)?: failure.code
        default: nil
        }
    }

    @Test func aGoodAnswerCountsUntilItsEnd() async throws {
        let responder = try ScriptedResponder()
        let statuses = await responder.checker().statuses(of: responder.chain)
        let end = RevocationStatus.good(until: Forge.now + .seconds(3600))
        #expect(statuses == [end, end])
    }

    @Test func theQuestionIsAPostOfTheRightKindToTheAddressInEachCertificate() async throws {
        let responder = try ScriptedResponder()
        _ = await responder.checker().statuses(of: responder.chain)
        let addresses = CertificateAuthority.Responders()
        check(Set(responder.asked.map(\.request.url)) == [addresses.root, addresses.intermediate])
        for asked in responder.asked {
            #expect(asked.request.method == .post)
            #expect(asked.request.headers["Content-Type"] == "application/ocsp-request")
            #expect(asked.request.timeout == .seconds(5))
            #expect(asked.question.certificates.count == 1)
            #expect(asked.question.nonce != nil)
        }
    }

    @Test func aRevokedCertificateIsToldWithDateAndReason() async throws {
        let at = Forge.now - .seconds(86_400)
        let keyCompromise = try await status { response, _ in
            response.answers[0].status = .revoked(at: at, reason: 1)
        }
        #expect(keyCompromise == .revoked(at: at, reason: .keyCompromise))
        let silent = try await status { response, _ in response.answers[0].status = .revoked(at: at, reason: nil) }
        #expect(silent == .revoked(at: at, reason: RevocationReason(code: nil)))
    }

    @Test func aCertificateThatTheResponderDoesNotKnowIsNotGood() async throws {
        let unknown = try await status { response, _ in response.answers[0].status = .unknown }
        #expect(unknown == .unknown)
    }

    // MARK: Freshness

    @Test("Pitfall 10: an answer past its end is not believed, however good its signature")
    func anAnswerPastItsEndIsNotBelieved() async throws {
        let late = try await status { response, responder in
            response.answers[0].thisUpdate = responder.now - .seconds(7200)
            response.answers[0].nextUpdate = responder.now - .seconds(61)
        }
        #expect(failure(late) == .stale)
        let within = try await status { response, responder in
            response.answers[0].thisUpdate = responder.now - .seconds(7200)
            response.answers[0].nextUpdate = responder.now - .seconds(59)
        }
        #expect(failure(within) == nil)
        let strict = try await status { response, responder in
            response.answers[0].nextUpdate = responder.now - .seconds(1)
        } settings: {
            $0.skew = .zero
        }
        #expect(failure(strict) == .stale)
    }

    @Test("Pitfall 10: an answer without an end is not believed")
    func anAnswerWithoutAnEndIsNotBelieved() async throws {
        let endless = try await status { response, _ in response.answers[0].nextUpdate = nil }
        #expect(failure(endless) == .stale)
    }

    @Test("Pitfall 10: an answer from the future is not believed")
    func anAnswerFromTheFutureIsNotBelieved() async throws {
        let early = try await status { response, responder in
            response.answers[0].thisUpdate = responder.now + .seconds(61)
        }
        #expect(failure(early) == .future)
        let within = try await status { response, responder in
            response.answers[0].thisUpdate = responder.now + .seconds(59)
        }
        #expect(failure(within) == nil)
    }

    @Test func anAnswerThatEndsBeforeItBeginsIsNotBelieved() async throws {
        let backwards = try await status { response, responder in
            response.answers[0].thisUpdate = responder.now + .seconds(30)
            response.answers[0].nextUpdate = responder.now + .seconds(10)
        }
        #expect(failure(backwards) == .stale)
    }

    // MARK: About whom

    @Test func anAnswerAboutAnotherCertificateIsNotBelieved() async throws {
        let otherSerial = try await status { response, _ in
            let last = response.answers[0].certificate.count - 1
            response.answers[0].certificate[last] ^= 1
        }
        #expect(failure(otherSerial) == .otherCertificate)
        // SEQUENCE { SEQUENCE { sha1, NULL }, OCTET STRING (20), OCTET STRING (20), INTEGER }
        for index in [20, 45] {
            let otherIssuer = try await status { response, _ in response.answers[0].certificate[index] ^= 1 }
            #expect(failure(otherIssuer) == .otherCertificate, "byte \(index)")
        }
        let empty = try await status { response, _ in response.answers = [] }
        #expect(failure(empty) != nil)
    }

    @Test func theRightOneAmongSeveralIsFound() async throws {
        let status = try await status { response, _ in
            var other = response.answers[0]
            other.certificate[other.certificate.count - 1] ^= 1
            other.status = .revoked(at: Forge.now, reason: 1)
            response.answers.insert(other, at: 0)
        }
        #expect(status == .good(until: Forge.now + .seconds(3600)))
    }

    @Test func anAnswerThatContradictsItselfIsNotBelieved() async throws {
        let twice = try await status { response, _ in
            var other = response.answers[0]
            other.status = .revoked(at: Forge.now, reason: 1)
            response.answers.append(other)
        }
        #expect(failure(twice) == .malformed)
    }

    @Test func anotherNonceIsNotBelievedAndNoneIs() async throws {
        let other = try await status { response, _ in
            if let last = response.nonce?.indices.last { response.nonce?[last] ^= 1 }
        }
        #expect(failure(other) == .nonce)
        let none = try await status { response, _ in response.nonce = nil }
        #expect(none == .good(until: Forge.now + .seconds(3600)))
        // Not asked for, and there all the same.
        let unasked = try await status { response, _ in
            response.nonce = DER.octets([1, 2, 3])
        } settings: {
            $0.nonce = false
        }
        #expect(failure(unasked) == .nonce)
    }

    // MARK: By whom

    /// The leaf's status when `key` signs the answer and `certificates` come along.
    private func status(
        signedBy key: SigningKey, bringing certificates: (ScriptedResponder) throws -> [[UInt8]]
    ) async throws -> RevocationStatus? {
        let responder = try ScriptedResponder()
        let brought = try certificates(responder)
        responder.script { [unowned responder] asked in
            var response = responder.good(asked)
            guard asked.isAboutLeaf else { return try responder.signed(response, asked) }
            response.certificates = brought
            return try responder.signed(response, asked, by: key)
        }
        return await responder.checker().statuses(of: responder.chain).first
    }

    @Test func aResponderThatTheIssuerMadeIsBelieved() async throws {
        let key = try SigningKey()
        let status = try await status(signedBy: key) { [try $0.responderCertificate(key: key)] }
        #expect(status == .good(until: Forge.now + .seconds(3600)))
    }

    @Test func whoeverElseSignsIsNotBelieved() async throws {
        let key = try SigningKey()
        let p384 = try SigningKey(generating: .p384)
        var verdicts: [String: RevocationStatus?] = [:]
        verdicts["nobody's key"] = try await status(signedBy: key) { _ in [] }
        verdicts["no permission to sign answers"] = try await status(signedBy: key) {
            [try $0.responderCertificate(key: key, extensions: [.signsData])]
        }
        verdicts["a key that may not sign data"] = try await status(signedBy: key) {
            [try $0.responderCertificate(key: key, extensions: [.signsOCSP, .signsCertificates])]
        }
        verdicts["expired"] = try await status(signedBy: key) {
            [try $0.responderCertificate(key: key, until: Forge.now - .seconds(61))]
        }
        verdicts["not valid yet"] = try await status(signedBy: key) {
            [try $0.responderCertificate(key: key, from: Forge.now + .seconds(61))]
        }
        verdicts["made by the root, not by the issuer"] = try await status(signedBy: key) {
            [
                try $0.responderCertificate(
                    key: key, issuer: CertificateAuthority.rootName, by: $0.forge.authority.root.key)
            ]
        }
        verdicts["made by somebody who calls himself the issuer"] = try await status(signedBy: key) {
            [try $0.responderCertificate(key: key, by: p384)]
        }
        verdicts["the good certificate of another key"] = try await status(signedBy: key) {
            [try $0.responderCertificate(key: p384)]
        }
        verdicts["behind too many others"] = try await status(signedBy: key) { responder in
            try (0..<4).map { _ in try responder.responderCertificate(key: try SigningKey()) }
                + [try responder.responderCertificate(key: key)]
        }
        for (who, status) in verdicts { #expect(failure(status ?? nil) == .signer, "\(who)") }
    }

    @Test func theLeafCannotVouchForItself() async throws {
        let responder = try ScriptedResponder()
        responder.script { [unowned responder] asked in
            var response = responder.good(asked)
            response.certificates = responder.forge.authority.chain
            return try responder.signed(response, asked, by: responder.forge.authority.leaf.key)
        }
        let statuses = await responder.checker().statuses(of: responder.chain)
        check(statuses.map { failure($0) } == [.signer, .signer])
    }

    @Test func theRootCannotAnswerForTheIntermediate() async throws {
        let responder = try ScriptedResponder()
        responder.script { [unowned responder] asked in
            try responder.signed(responder.good(asked), asked, by: responder.forge.authority.root.key)
        }
        let statuses = await responder.checker().statuses(of: responder.chain)
        check(statuses.map { failure($0) } == [.signer, nil])
    }

    @Test func aChangedByteAnywhereIsNoGoodAnswer() async throws {
        let responder = try ScriptedResponder()
        let checker = responder.checker { $0.retryAfter = .milliseconds(100) }
        for place in stride(from: 0, to: 400, by: 7) {
            responder.script { [unowned responder] asked in
                var answer = try responder.signed(responder.good(asked), asked)
                answer.body[place % answer.body.count] ^= 1
                return answer
            }
            let statuses = await checker.statuses(of: responder.chain)
            check(statuses.allSatisfy(\.isUndecided), "byte \(place): \(statuses)")
            responder.advance(by: .seconds(1))
        }
    }

    // MARK: What is no answer

    @Test func whatIsNoAnswerIsToldApart() async throws {
        func status(_ script: @escaping ScriptedResponder.Script) async throws -> RevocationStatus? {
            let responder = try ScriptedResponder(script)
            return await responder.checker().statuses(of: responder.chain).first
        }
        let whole = { @Sendable (body: [UInt8]) -> ScriptedResponder.Script in
            { @Sendable _ in ScriptedResponder.response(body) }
        }
        var verdicts: [(RevocationStatus?, OCSPFailure.Code)] = []
        verdicts.append((try await status(whole([])), .malformed))
        verdicts.append((try await status(whole(Array("<html>log in to the hotel's network</html>".utf8))), .malformed))
        verdicts.append((try await status(whole([0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF])), .malformed))
        for declined in [UInt8(1), 2, 3, 5, 6, 77] {
            verdicts.append((try await status(whole(OCSPResponse.declined(declined))), .declined))
        }
        // "Successful", and nothing behind it.
        verdicts.append((try await status(whole(OCSPResponse.declined(0))), .malformed))
        verdicts.append(
            (try await status { _ in ScriptedResponder.response([], status: 500) }, .httpStatus))
        verdicts.append(
            (try await status { _ in throw HTTPClientError(.timedOut, "too slow") }, .unreachable))
        verdicts.append(
            (try await status { _ in throw HTTPClientError(.tooLarge, "too large") }, .tooLarge))
        for (status, code) in verdicts { #expect(failure(status) == code) }
    }

    @Test func somethingBehindTheAnswerIsNotPassedOver() async throws {
        let responder = try ScriptedResponder()
        responder.script { [unowned responder] asked in
            var answer = try responder.signed(responder.good(asked), asked)
            answer.body.append(0)
            return answer
        }
        let statuses = await responder.checker().statuses(of: responder.chain)
        check(statuses.map { failure($0) } == [.malformed, .malformed])
    }
}
