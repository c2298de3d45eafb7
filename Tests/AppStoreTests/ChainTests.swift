import AppStore
import TestSupport
import Testing
import Time

/// Chains that are wrong in one respect each.
@Suite struct ChainTests {
    let forge: Forge
    let now = Forge.now
    let start = Forge.now - .seconds(86_400)
    let end = Forge.now + .seconds(86_400)

    init() throws { forge = try Forge() }

    typealias Extension = CertificateTemplate.Extension
    static let rootName = CertificateTemplate.Name(
        commonName: "Holdfast Root CA - G3", unit: "Holdfast Certification Authority")
    static let middleName = CertificateTemplate.Name(commonName: "Middle", unit: "G6")
    static let leafName = CertificateTemplate.Name(commonName: "Leaf", unit: "Signing")

    static let middleExtensions: [Extension] = [
        .basicConstraints(isAuthority: true, pathLength: 0), .signsCertificates, .appleIntermediateMarker,
    ]
    static let leafExtensions: [Extension] = [.basicConstraints(isAuthority: false), .signsData, .appleLeafMarker]

    /// A verdict on a transaction signed by a leaf under a middle certificate made to order.
    func verdict(
        middle: [Extension] = middleExtensions, leaf: [Extension] = leafExtensions,
        middleIssuer: CertificateTemplate.Name = rootName, leafIssuer: CertificateTemplate.Name = middleName,
        rootKey: SigningKey? = nil, middleSigner: SigningKey? = nil, leafCurve: Curve = .p256,
        middleCurve: Curve = .p384, change: ([[UInt8]]) -> [[UInt8]] = { $0 }
    ) throws -> VerificationFailure.Code? {
        let middleKey = try SigningKey(generating: middleCurve)
        let leafKey = try SigningKey(generating: leafCurve)
        let middleCertificate = try CertificateTemplate(
            subject: Self.middleName, issuer: middleIssuer, notBefore: start, notAfter: end,
            subjectPublicKeyInfo: try middleKey.subjectPublicKeyInfo(), extensions: middle
        ).signed(by: rootKey ?? forge.authority.root.key)
        let leafCertificate = try CertificateTemplate(
            subject: Self.leafName, issuer: leafIssuer, notBefore: start, notAfter: end,
            subjectPublicKeyInfo: try leafKey.subjectPublicKeyInfo(), extensions: leaf
        ).signed(by: middleSigner ?? middleKey)
        let chain = change([leafCertificate, middleCertificate, forge.authority.rootDER])
        // A leaf on another curve cannot sign ES256: any key serves to get as far as the chain.
        let jws = try forge.sign(Forge.transaction(), x5c: chain, key: leafCurve == .p256 ? leafKey : SigningKey())
        let verifier = try forge.verifier()
        return failure { _ = try verifier.verify(Array(jws.utf8)[...], as: TransactionPayload.self, now: now) }?.code
    }

    @Test func aChainMadeToOrderIsAccepted() throws {
        #expect(try verdict() == nil)
        #expect(try verdict(middleCurve: .p256) == nil)
    }

    @Test func whatApplesTestChainLacksMayBeLacking() throws {
        let middle: [Extension] = [
            .basicConstraints(isAuthority: true, pathLength: 0, isCritical: false), .appleIntermediateMarker,
        ]
        let leaf: [Extension] = [.basicConstraints(isAuthority: false, isCritical: false), .appleLeafMarker]
        #expect(try verdict(middle: middle, leaf: leaf) == nil)
        #expect(try verdict(leaf: [.appleLeafMarker]) == nil)
    }

    @Test func theThirdCertificateIsNeverTrusted() throws {
        let other = try CertificateAuthority(makingAt: now)
        check(try verdict(change: { [$0[0], $0[1], other.rootDER] }) == nil)
        // A whole chain of somebody else's, root included, is worth nothing.
        let jws = Array(try other.sign(Array(Forge.transaction().utf8)).utf8)
        let verifier = try forge.verifier()
        check(
            failure { _ = try verifier.verify(jws[...], as: TransactionPayload.self, now: now) }?.code == .notTrusted)
        #expect(verifier.cachedChainCount == 0)
    }

    @Test func bothMarkersAreNeeded() throws {
        #expect(try verdict(leaf: Array(Self.leafExtensions.dropLast())) == .certificate)
        #expect(try verdict(middle: Array(Self.middleExtensions.dropLast())) == .certificate)
        let swapped = Self.leafExtensions.dropLast() + [.appleIntermediateMarker]
        #expect(try verdict(leaf: Array(swapped)) == .certificate)
        // As critical extensions they are unknown ones.
        let critical = Extension(AppleMarker.leaf, isCritical: true, value: DER.null)
        #expect(try verdict(leaf: Self.leafExtensions.dropLast() + [critical]) == .certificate)
    }

    @Test func unknownCriticalExtensionsAreRefused() throws {
        let unknown = Extension([1, 2, 3, 4], isCritical: true, value: DER.null)
        #expect(try verdict(leaf: Self.leafExtensions + [unknown]) == .certificate)
        #expect(try verdict(middle: Self.middleExtensions + [unknown]) == .certificate)
        // Name constraints are known to OpenSSL, but nobody enforces them here.
        let constraints = Extension([2, 5, 29, 30], isCritical: true, value: DER.sequence())
        #expect(try verdict(middle: Self.middleExtensions + [constraints]) == .certificate)
        let harmless = Extension([1, 2, 3, 4], value: DER.null)
        #expect(try verdict(leaf: Self.leafExtensions + [harmless]) == nil)
    }

    @Test func theIntermediateMustBeAllowedToSignCertificates() throws {
        let marker = Extension.appleIntermediateMarker
        #expect(try verdict(middle: [marker]) == .certificate)
        #expect(try verdict(middle: [.basicConstraints(isAuthority: false), marker]) == .certificate)
        let dataOnly: [Extension] = [.basicConstraints(isAuthority: true), .signsData, marker]
        #expect(try verdict(middle: dataOnly) == .certificate)
    }

    @Test func aRootThatAllowsNoIntermediateHasNone() throws {
        for (length, expected) in [(UInt8?.none, nil), (0, VerificationFailure.Code.notTrusted), (1, nil)] {
            let root = try CertificateTemplate(
                subject: Self.rootName, issuer: Self.rootName, notBefore: start, notAfter: end,
                subjectPublicKeyInfo: try forge.authority.root.key.subjectPublicKeyInfo(),
                extensions: [.basicConstraints(isAuthority: true, pathLength: length), .signsCertificates]
            ).signed(by: forge.authority.root.key)
            let middleKey = try SigningKey(generating: .p384)
            let leafKey = try SigningKey()
            let middle = try CertificateTemplate(
                subject: Self.middleName, issuer: Self.rootName, notBefore: start, notAfter: end,
                subjectPublicKeyInfo: try middleKey.subjectPublicKeyInfo(), extensions: Self.middleExtensions
            ).signed(by: forge.authority.root.key)
            let leaf = try CertificateTemplate(
                subject: Self.leafName, issuer: Self.middleName, notBefore: start, notAfter: end,
                subjectPublicKeyInfo: try leafKey.subjectPublicKeyInfo(), extensions: Self.leafExtensions
            ).signed(by: middleKey)
            let jws = Array(try forge.sign(Forge.transaction(), x5c: [leaf, middle, root], key: leafKey).utf8)
            let verifier = JWSVerifier(roots: try TrustedRoots(der: [root]))
            let found = failure { _ = try verifier.verify(jws[...], as: TransactionPayload.self, now: now) }
            #expect(found?.code == expected)
        }
    }

    @Test func theLeafMustBeALeaf() throws {
        let marker = Extension.appleLeafMarker
        #expect(try verdict(leaf: [.basicConstraints(isAuthority: true), marker]) == .certificate)
        #expect(try verdict(leaf: [.signsCertificates, marker]) == .certificate)
        #expect(try verdict(leafCurve: .p384) == .certificate)
    }

    @Test func namesMustFit() throws {
        #expect(try verdict(leafIssuer: Self.leafName) == .notTrusted)
        #expect(try verdict(middleIssuer: Self.middleName) == .notTrusted)
    }

    @Test func namesAloneAreWorthNothing() throws {
        #expect(try verdict(rootKey: try SigningKey(generating: .p384)) == .notTrusted)
        #expect(try verdict(middleSigner: try SigningKey(generating: .p384)) == .notTrusted)
    }

    @Test func onlyThreeCertificatesMakeAChain() throws {
        check(try verdict(change: { Array($0.prefix(2)) }) == .chainLength)
        check(try verdict(change: { $0 + [$0[2]] }) == .chainLength)
        check(try verdict(change: { [$0[0]] }) == .chainLength)
    }

    @Test func theOrderOfCertificatesMatters() throws {
        check(try verdict(change: { [$0[1], $0[0], $0[2]] }) != nil)
        check(try verdict(change: { [$0[0], $0[2], $0[1]] }) != nil)
    }

    @Test(arguments: 0..<3)
    func everyCertificateMustBeDERAndNothingElse(place: Int) throws {
        func changing(_ change: @escaping ([UInt8]) -> [UInt8]) throws -> VerificationFailure.Code? {
            try verdict(change: { chain in
                var chain = chain
                chain[place] = change(chain[place])
                return chain
            })
        }
        check(try changing { $0 + [0] } == .certificate)
        check(try changing { Array($0.dropLast()) } == .certificate)
        check(try changing { _ in [] } == .certificate)
        check(try changing { _ in DER.sequence() } == .certificate)
    }

    @Test func aCertificateThatSaysTheSameThingTwiceIsRefused() throws {
        #expect(try verdict(middle: Self.middleExtensions + [.basicConstraints(isAuthority: true)]) == .certificate)
    }

    @Test func aChangedByteInACertificateIsRefused() throws {
        for place in 0..<2 {
            for index in stride(from: 4, to: 400, by: 13) {
                let found = try verdict(change: { chain in
                    var chain = chain
                    chain[place][index] ^= 1
                    return chain
                })
                #expect(found != nil, "certificate \(place), byte \(index)")
            }
        }
    }
}
