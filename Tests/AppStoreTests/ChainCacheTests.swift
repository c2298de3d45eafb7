import AppStore
import TestSupport
import Testing
import Time

@Suite struct ChainCacheTests {
    let forge: Forge
    let now = Forge.now

    init() throws { forge = try Forge() }

    func verify(_ verifier: JWSVerifier, _ jws: String) -> VerificationFailure.Code? {
        failure { _ = try verifier.verify(Array(jws.utf8)[...], as: TransactionPayload.self, now: now) }?.code
    }

    @Test func aKnownChainCostsNothingOfTheBudgetForUnknownOnes() throws {
        let verifier = try forge.verifier { $0.unknownChainsPerSecond = 1 }
        for count in 0..<20 {
            let jws = try forge.sign(Forge.transaction(["price": Forge.number(Int64(count))]))
            #expect(verify(verifier, jws) == nil)
        }
        #expect(verifier.cachedChainCount == 1)
    }

    @Test("Invariant 10: a flood of unknown chains is bounded") func aFloodOfUnknownChainsIsBounded() throws {
        let verifier = try forge.verifier { $0.unknownChainsPerSecond = 0 }
        // Within the first second one is let through, which opens the window.
        let jws = try forge.sign(
            Forge.transaction(),
            x5c: [
                forge.authority.chain[0], forge.authority.chain[1], forge.authority.chain[2],
            ])
        #expect(verify(verifier, jws) == nil)
        let others = try (0..<5).map { _ in try impostor() }
        let verdicts = others.map { verify(verifier, $0) }
        #expect(verdicts.contains(.busy))
        check(verdicts.allSatisfy { $0 == .busy || $0 == .notTrusted })
        #expect(VerificationFailure(.busy, .notification, "").isRetryable)
        #expect(VerificationFailure(.busy, .notification, "").disposition == .retryLater)
        // What is known stays served all the while.
        #expect(verify(verifier, jws) == nil)
    }

    /// A chain that has the trusted root's name but not its key: the most that a forger can do.
    func impostor() throws -> String {
        let other = try CertificateAuthority(makingAt: now)
        let members = [other.leaf.certificate, other.intermediate.certificate, forge.authority.rootDER]
        // Without key identifiers the names are all that can be compared.
        let middle = try CertificateTemplate(
            subject: ChainTests.middleName, issuer: ChainTests.rootName, notBefore: now - .seconds(60),
            notAfter: now + .seconds(60), subjectPublicKeyInfo: try other.intermediate.key.subjectPublicKeyInfo(),
            extensions: ChainTests.middleExtensions
        ).signed(by: other.root.key)
        let leaf = try CertificateTemplate(
            subject: ChainTests.leafName, issuer: ChainTests.middleName, notBefore: now - .seconds(60),
            notAfter: now + .seconds(60), subjectPublicKeyInfo: try other.leaf.key.subjectPublicKeyInfo(),
            extensions: ChainTests.leafExtensions
        ).signed(by: other.intermediate.key)
        return try forge.sign(Forge.transaction(), x5c: [leaf, middle, members[2]], key: other.leaf.key)
    }

    @Test func forgedChainsNeitherEnterNorEvict() throws {
        let verifier = try forge.verifier { $0.cachedChains = 2 }
        let good = try forge.sign(Forge.transaction())
        #expect(verify(verifier, good) == nil)
        for _ in 0..<10 { #expect(verify(verifier, try impostor()) == .notTrusted) }
        #expect(verifier.cachedChainCount == 1)
        #expect(verify(verifier, good) == nil)
    }

    @Test func theCacheKnowsAChainByWhatCountsInIt() throws {
        let verifier = try forge.verifier { $0.cachedChains = 2 }
        let third = try (0..<6).map { _ in try CertificateAuthority(makingAt: now).rootDER }
        for root in third {
            let chain = [forge.authority.chain[0], forge.authority.chain[1], root]
            #expect(verify(verifier, try forge.sign(Forge.transaction(), x5c: chain)) == nil)
        }
        #expect(verifier.cachedChainCount == 1, "anybody can vary the third certificate")
        // And what is wrong is wrong whether the rest was seen before or not.
        let broken = [forge.authority.chain[0], forge.authority.chain[1], [0x30, 0x00]]
        #expect(verify(verifier, try forge.sign(Forge.transaction(), x5c: broken)) == .certificate)
        #expect(verify(try forge.verifier(), try forge.sign(Forge.transaction(), x5c: broken)) == .certificate)
    }

    @Test func aKnownHeaderDoesNotExcuseABadSignature() throws {
        let verifier = try forge.verifier()
        #expect(verify(verifier, try forge.sign(Forge.transaction())) == nil)
        #expect(verify(verifier, try forge.sign(Forge.transaction(), key: SigningKey())) == .signature)
    }

    @Test("Invariant 10: the cache is bounded by count") func theCacheIsBoundedByCount() throws {
        let authorities = try (0..<5).map { _ in try CertificateAuthority(makingAt: now) }
        var limits = VerificationLimits()
        limits.cachedChains = 3
        let verifier = JWSVerifier(roots: try TrustedRoots(der: authorities.map(\.rootDER)), limits: limits)
        for _ in 0..<2 {
            for authority in authorities {
                #expect(verify(verifier, try authority.sign(Array(Forge.transaction().utf8))) == nil)
            }
        }
        #expect(verifier.cachedChainCount == 3)
    }

    @Test func anAgedChainIsLookedAtAgain() throws {
        let verifier = try forge.verifier {
            $0.chainAge = .zero
            $0.unknownChainsPerSecond = 1
        }
        let jws = try forge.sign(Forge.transaction())
        let verdicts = (0..<5).map { _ in verify(verifier, jws) }
        #expect(verdicts.contains(.busy), "each time counts as unknown")
        let patient = try forge.verifier { $0.chainAge = .zero }
        for _ in 0..<5 { #expect(verify(patient, jws) == nil) }
        #expect(patient.work.chains == 5)
    }

    @Test("One more payload under known certificates costs one P-256 verification")
    func oneMorePayloadCostsOneVerification() throws {
        let verifier = try forge.verifier()
        for count in 1...50 {
            #expect(verify(verifier, try forge.sign(Forge.transaction(["price": Forge.number(Int64(count))]))) == nil)
            #expect(verifier.work == JWSVerifier.Work(chains: 1, signatures: count))
        }
        // A header written in another way is read, and its chain is known all the same.
        let x5c = forge.authority.chain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        let other = try forge.sign(Forge.transaction(), header: "{\"x5c\":[\(x5c)],\"kid\":\"\",\"alg\":\"ES256\"}")
        for _ in 0..<3 { #expect(verify(verifier, other) == nil) }
        #expect(verifier.work == JWSVerifier.Work(chains: 1, signatures: 53))
        // A whole notification: three signatures, still the one chain.
        let body = SignedBody.body(signedPayload: try forge.notification())
        _ = try NotificationVerifier(verifier).verify(body, for: Forge.identity, now: now)
        #expect(verifier.work == JWSVerifier.Work(chains: 1, signatures: 56))
        // What cannot be signed costs nothing at all.
        #expect(verify(verifier, "a.b.c") == .malformed)
        #expect(verifier.work.signatures == 56)
    }

    @Test("Pitfall 9: more chains than the cache holds push out the oldest, and nothing breaks")
    func moreChainsThanTheCacheHolds() throws {
        let authorities = try (0..<40).map { _ in try CertificateAuthority(makingAt: now) }
        let verifier = JWSVerifier(roots: try TrustedRoots(der: authorities.map(\.rootDER)))
        let signed = try authorities.map { try $0.sign(Array(Forge.transaction().utf8)) }
        for jws in signed { #expect(verify(verifier, jws) == nil) }
        #expect(verifier.cachedChainCount == 32)
        #expect(verifier.work.chains == 40)
        for jws in signed.suffix(32) { #expect(verify(verifier, jws) == nil) }
        #expect(verifier.work.chains == 40, "the newest are known")
        for jws in signed.prefix(8) { #expect(verify(verifier, jws) == nil) }
        #expect(verifier.work.chains == 48, "the oldest were pushed out")
        #expect(verifier.cachedChainCount == 32)
    }

    @Test("Pitfall 21: what is kept does not grow with what is verified")
    func whatIsKeptDoesNotGrow() throws {
        let verifier = try forge.verifier()
        let x5c = forge.authority.chain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        for count in 0..<100 {
            let header = "{\"alg\":\"ES256\",\"x5c\":[\(x5c)],\"n\":\(count)}"
            #expect(verify(verifier, try forge.sign(Forge.transaction(), header: header)) == nil)
        }
        #expect(verifier.cachedChainCount == 1)
        #expect(verifier.cachedHeaderCount <= 8)
        // Refused ones leave nothing behind.
        let before = verifier.cachedHeaderCount
        for _ in 0..<20 { _ = verify(verifier, try forge.sign("{}", header: #"{"alg":"ES256"}"#)) }
        #expect(verify(verifier, try forge.sign(Forge.transaction(), key: SigningKey())) == .signature)
        #expect(verifier.cachedHeaderCount == before)
    }

    @Test func manyThreadsShareOneVerifier() async throws {
        let verifier = try forge.verifier()
        let good = try forge.sign(Forge.transaction())
        let bad = try forge.sign(Forge.transaction(), key: SigningKey())
        let codes = await withTaskGroup(of: VerificationFailure.Code?.self) { group in
            for index in 0..<64 { group.addTask { verify(verifier, index % 2 == 0 ? good : bad) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        check(codes.count { $0 == nil } == 32)
        check(codes.count { $0 == .signature } == 32)
    }
}
