import AppStore
import Runtime
import TestSupport
import Testing
import Time

/// The table of `RevocationSettings`, row by row, for data signed under the chain.
@Suite("What revocation means for signed data", .timeLimit(.minutes(6))) struct RevocationRuleTests {
    private let day = Duration.seconds(86_400)

    private func verdict(
        _ mode: RevocationSettings.Mode, _ status: OCSPResponse.Status, signedAt: Timestamp = Forge.now
    ) async throws -> VerificationFailure? {
        let responder = try ScriptedResponder { response, asked, _ in
            if asked.isAboutLeaf { response.answers[0].status = status }
        }
        return await responder.checker(mode).verdict(responder.chain, signedAt: signedAt)
    }

    @Test(arguments: RevocationSettings.Mode.allCases)
    func whatIsGoodPasses(mode: RevocationSettings.Mode) async throws {
        #expect(try await verdict(mode, .good) == nil)
    }

    @Test func offAsksNobody() async throws {
        let responder = try ScriptedResponder { response, _, _ in
            response.answers[0].status = .revoked(at: Forge.now - .seconds(60), reason: 1)
        }
        #expect(await responder.checker(.off).verdict(responder.chain) == nil)
        #expect(responder.asked.isEmpty)
    }

    @Test(arguments: [RevocationSettings.Mode.soft, .hard])
    func aRevokedLeafFailsForGood(mode: RevocationSettings.Mode) async throws {
        let failure = try #require(try await verdict(mode, .revoked(at: Forge.now - day, reason: 4)))
        #expect(failure.code == .revoked)
        #expect(!failure.isRetryable)
        #expect(failure.disposition == .refuse)
        #expect(failure.nested.disposition == .quarantine)
        #expect(failure.sentence.contains("superseded"))
    }

    @Test(arguments: [RevocationSettings.Mode.soft, .hard])
    func aRevokedIntermediateFailsForGood(mode: RevocationSettings.Mode) async throws {
        let responder = try ScriptedResponder { response, asked, _ in
            if !asked.isAboutLeaf { response.answers[0].status = .revoked(at: Forge.now, reason: nil) }
        }
        let failure = await responder.checker(mode).verdict(responder.chain)
        #expect(failure?.code == .revoked)
    }

    @Test(arguments: [nil, 0, 3, 4, 5, 6, 9] as [Int?])
    func whatWasSignedBeforeAnOrdinaryRevocationStaysGood(reason: Int?) async throws {
        let revoked = OCSPResponse.Status.revoked(at: Forge.now - day, reason: reason)
        #expect(try await verdict(.hard, revoked, signedAt: Forge.now - day - .seconds(1)) == nil)
        #expect(try await verdict(.hard, revoked, signedAt: Forge.now - day)?.code == .revoked)
        #expect(try await verdict(.hard, revoked, signedAt: Forge.now)?.code == .revoked)
    }

    @Test(arguments: [1, 2, 10])
    func nothingIsGoodOnceAKeyIsInOtherHands(reason: Int) async throws {
        let revoked = OCSPResponse.Status.revoked(at: Forge.now - day, reason: reason)
        #expect(try await verdict(.soft, revoked, signedAt: Forge.now - day - day)?.code == .revoked)
    }

    @Test(
        "Pitfall 7: a responder that cannot be reached is no broken chain: it passes in soft and is retryable in hard")
    func aResponderThatCannotBeReachedIsNoBrokenChain() async throws {
        let responder = try ScriptedResponder { _ in ScriptedResponder.response([], status: 503) }
        #expect(await responder.checker(.soft).verdict(responder.chain) == nil)
        let failure = try #require(await responder.checker(.hard).verdict(responder.chain))
        #expect(failure.code == .revocationUnknown)
        #expect(failure.isRetryable)
        #expect(failure.disposition == .retryLater)
        #expect(failure.nested.disposition == .retryLater)
        #expect(failure.sentence.contains("HTTP status 503"))
        #expect(
            responder.metrics.counter("holdfast_ocsp_checks_total", "", labels: ["result": "unavailable"]).value == 4)
    }

    @Test func whatIsUnknownOrCannotBeBelievedPassesInSoftAndIsRetryableInHard() async throws {
        #expect(try await verdict(.soft, .unknown) == nil)
        #expect(try await verdict(.hard, .unknown)?.code == .revocationUnknown)
        let responder = try ScriptedResponder { _ in ScriptedResponder.response([1, 2, 3]) }
        #expect(await responder.checker(.soft).verdict(responder.chain) == nil)
        #expect(await responder.checker(.hard).verdict(responder.chain)?.code == .revocationUnknown)
    }

    @Test func aRevokedCertificateCountsMoreThanOneThatNobodyKnows() async throws {
        let responder = try ScriptedResponder()
        responder.script { [unowned responder] asked in
            if asked.isAboutLeaf { return ScriptedResponder.response([], status: 500) }
            let revoked = responder.good(asked, .revoked(at: Forge.now, reason: 2))
            return try responder.signed(revoked, asked)
        }
        #expect(await responder.checker(.hard).verdict(responder.chain)?.code == .revoked)
    }

    @Test func aChainWithoutAddressesPassesEvenInHard() async throws {
        let (chain, responder) = try chain(leafEnds: Forge.now + day)
        #expect(await responder.checker(.hard).verdict(chain) == nil)
        check(responder.asked.allSatisfy { !$0.isAboutLeaf })
        #expect(await responder.checker(.hard).statuses(of: chain).first == .noResponder)
    }

    @Test("Pitfall 11: an expired leaf is not asked about, so what it signed in its time stays good")
    func anExpiredLeafIsNotAskedAbout() async throws {
        let responder = try ScriptedResponder { response, _, responder in
            // What a responder says of a certificate it has forgotten.
            response.answers[0].status = .unknown
        }
        let end = try #require(responder.chain.links.map(\.notAfter).min())
        responder.advance(by: end - Forge.now + .seconds(1))
        #expect(await responder.checker(.hard).verdict(responder.chain, signedAt: Forge.now) == nil)
        #expect(responder.asked.isEmpty)
    }

    @Test("Pitfall 11: the intermediate of an expired leaf is asked about all the same")
    func theIntermediateOfAnExpiredLeafIsAskedAbout() async throws {
        let (chain, responder) = try chain(leafEnds: Forge.now + day)
        responder.advance(by: day + .seconds(1))
        #expect(await responder.checker(.hard).statuses(of: chain).first == .expired)
        #expect(responder.asked.count == 1)
        responder.script { _ in ScriptedResponder.response([], status: 500) }
        #expect(await responder.checker(.hard).verdict(chain, signedAt: Forge.now)?.code == .revocationUnknown)
    }

    /// A chain whose leaf names no responder and ends at `end`.
    private func chain(leafEnds end: Timestamp) throws -> (VerifiedChain, ScriptedResponder) {
        let responder = try ScriptedResponder()
        let authority = responder.forge.authority
        let key = try SigningKey()
        let leaf = try CertificateTemplate(
            subject: CertificateAuthority.signingName, issuer: CertificateAuthority.relationsName,
            notBefore: Forge.now - day, notAfter: end, subjectPublicKeyInfo: try key.subjectPublicKeyInfo(),
            extensions: [.basicConstraints(isAuthority: false), .signsData, .appleLeafMarker]
        ).signed(by: authority.intermediate.key)
        let jws = try responder.forge.sign(
            Forge.transaction(), x5c: [leaf] + authority.chain.dropFirst(), key: key)
        let verified = try responder.forge.verifier().verify(
            Array(jws.utf8)[...], as: TransactionPayload.self, now: Forge.now)
        return (verified.chain, responder)
    }
}
