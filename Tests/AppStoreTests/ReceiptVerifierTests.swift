import AppStore
import Entitlements
import Glibc
import JSON
import Runtime
import TestSupport
import Testing
import Time

/// Who signed a receipt, and for what.
@Suite struct ReceiptVerifierTests {
    let forge: ReceiptForge

    init() throws { forge = try ReceiptForge() }

    /// The code with which `bytes` are refused, nil if they are verified.
    func code(
        _ bytes: [UInt8], expecting: ReceiptVerifier.Expectation = .init(), now: Timestamp = ReceiptForge.now,
        roots: ReceiptRoots? = nil
    ) -> ReceiptFailure.Code? {
        do { _ = try forge.verify(bytes, expecting: expecting, now: now, roots: roots) } catch { return error.code }
        return nil
    }

    func receipt(_ form: ReceiptBuilder.Form = .init()) throws -> [UInt8] {
        try forge.sign(ReceiptForge.builder().payload, form: form)
    }

    // MARK: Good ones

    @Test("Pitfall 23: an app receipt's PKCS#7 signature is verified up to a trusted root, RSA with SHA-1 and SHA-256")
    func signaturesAreVerified() throws {
        for digest in [ReceiptBuilder.Digest.sha1, .sha256] {
            for hasAttributes in [false, true] {
                var form = ReceiptBuilder.Form()
                form.digest = digest
                form.hasSignedAttributes = hasAttributes
                let verified = try forge.verify(try receipt(form))
                #expect(verified.digest == (digest == .sha1 ? "SHA-1" : "SHA-256"))
                #expect(verified.receipt.transactionID == "2000000123")
                #expect(verified.chain.map(\.fingerprint) == forge.chain.map(SHA256.hexadecimal))
                #expect(!verified.isApples)
            }
        }
    }

    @Test("Pitfall 23: chains with elliptic curves, such as Apple's G3, are verified too")
    func ellipticCurvesAreVerified() throws {
        let authority = try CertificateAuthority(makingAt: ReceiptForge.now)
        let made = ReceiptForge.now - .seconds(60)
        let bytes = try ReceiptForge.builder(made: made).signed(by: authority)
        let verified = try forge.verify(bytes, roots: try ReceiptRoots(file: authority.rootDER))
        #expect(verified.receipt.creationDate == made)
        #expect(code(bytes) == .notTrusted)
        #expect(code(bytes, roots: .apple) == .notTrusted)
    }

    @Test func theRootNeedNotComeAlongAndStrangersMay() throws {
        let payload = ReceiptForge.builder().payload
        let authority = try CertificateAuthority(makingAt: ReceiptForge.now)
        #expect(code(try forge.sign(payload, chain: Array(forge.chain.prefix(2)))) == nil)
        #expect(code(try forge.sign(payload, chain: forge.chain + authority.chain)) == nil)
        #expect(code(try forge.sign(payload, chain: [forge.chain[0]] + authority.chain + [forge.chain[1]])) == nil)
    }

    @Test func bothOfApplesRootsAreThoseThatApplePublishes() {
        #expect(
            ReceiptRoots.apple.fingerprints == [
                "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024",
                "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179",
            ])
    }

    static let openssl = "/usr/bin/openssl"

    @Test(
        "Pitfall 23: OpenSSL's command and ours agree on each other's receipts",
        .enabled(if: access(openssl, X_OK) == 0, "needs the openssl command"))
    func opensslAgrees() async throws {
        let folder = try TemporaryFolder()
        let fixtures = "\(Command.packageFolder)/Tests/AppStoreTests/Fixtures/Receipts"
        let payload = ReceiptForge.builder().payload
        try folder.write(payload, to: "payload")
        try folder.write(receipt(), to: "ours")
        let verified = try await Command.run(
            Self.openssl,
            [
                "cms", "-verify", "-binary", "-inform", "DER", "-in", folder.file("ours"), "-CAfile",
                "\(fixtures)/root.pem", "-attime", "\(ReceiptForge.made.milliseconds / 1000)", "-purpose", "any",
                "-out", folder.file("out"),
            ])
        #expect(verified.status == 0, "\(verified.output)")
        #expect(try File.bytes(at: folder.file("out")) == payload)

        for digest in ["sha1", "sha256"] {
            let signed = try await Command.run(
                Self.openssl,
                [
                    "cms", "-sign", "-binary", "-nodetach", "-md", digest, "-in", folder.file("payload"), "-outform",
                    "DER", "-signer", "\(fixtures)/leaf.pem", "-inkey", "\(fixtures)/leaf.key.pem", "-certfile",
                    "\(fixtures)/intermediate.pem", "-out", folder.file("theirs"),
                ])
            #expect(signed.status == 0, "\(signed.output)")
            #expect(code(try File.bytes(at: folder.file("theirs"))) == nil)
        }
    }

    // MARK: Bad ones

    @Test("Pitfall 23: no changed byte passes unless all that is read stays the same")
    func noChangedByteChangesWhatIsVerified() throws {
        let good = try receipt()
        let content = try forge.verify(good).receipt
        var refused = 0
        for place in stride(from: 0, to: good.count, by: 7) {
            var bent = good
            bent[place] ^= 1 << (place % 8)
            do throws(ReceiptFailure) {
                // Bytes of the root that came along, which nobody looks at, may differ.
                let receipt = try forge.verify(bent).receipt
                #expect(receipt == content)
            } catch { refused += 1 }
        }
        #expect(refused > good.count / 7 / 2)
    }

    @Test func aChangedContentIsRefused() throws {
        var bytes = try receipt()
        let place = try #require(bytes.firstRange(of: Array("pro.monthly".utf8))?.lowerBound)
        bytes[place] ^= 1
        #expect(code(bytes) == .signature)
        var form = ReceiptBuilder.Form()
        form.hasSignedAttributes = false
        bytes = try receipt(form)
        bytes[try #require(bytes.firstRange(of: Array("pro.monthly".utf8))?.lowerBound)] ^= 1
        #expect(code(bytes) == .signature)
    }

    /// A chain under our root whose members can be made wrong.
    func chain(
        leaf: [CertificateTemplate.Extension] = [.basicConstraints(isAuthority: false), .signsData, .appleLeafMarker],
        intermediate: [CertificateTemplate.Extension] = [
            .basicConstraints(isAuthority: true), .signsCertificates, .appleIntermediateMarker,
        ], signedBy stranger: SigningKey? = nil
    ) throws -> (bytes: [UInt8], roots: ReceiptRoots) {
        let (rootKey, middleKey, leafKey) = (try SigningKey(generating: .p384), try SigningKey(), try SigningKey())
        func name(_ name: String) -> CertificateTemplate.Name { .init(commonName: name, unit: "Tests") }
        func make(
            _ subject: String, _ issuer: String, _ key: SigningKey, _ extensions: [CertificateTemplate.Extension],
            _ signer: SigningKey
        ) throws -> [UInt8] {
            try CertificateTemplate(
                subject: name(subject), issuer: name(issuer), notBefore: ReceiptForge.made - .seconds(86_400),
                notAfter: ReceiptForge.made + .seconds(86_400), subjectPublicKeyInfo: key.subjectPublicKeyInfo(),
                extensions: extensions
            ).signed(by: signer)
        }
        let root = try make(
            "root", "root", rootKey, [.basicConstraints(isAuthority: true), .signsCertificates], rootKey)
        let chain = [
            try make("leaf", "middle", leafKey, leaf, stranger ?? middleKey),
            try make("middle", "root", middleKey, intermediate, rootKey),
        ]
        let key = try #require(PEM.decode(try leafKey.pem(), label: "PRIVATE KEY")?.first)
        let bytes = try ReceiptBuilder.sign(ReceiptForge.builder().payload, certificates: chain, key: key)
        return (bytes, try ReceiptRoots(file: root))
    }

    func code(_ made: (bytes: [UInt8], roots: ReceiptRoots)) -> ReceiptFailure.Code? {
        code(made.bytes, roots: made.roots)
    }

    @Test("Pitfall 23: only certificates that Apple marked for receipts count")
    func certificatesWithoutApplesMarksAreRefused() throws {
        #expect(try code(chain()) == nil)
        #expect(try code(chain(leaf: [.basicConstraints(isAuthority: false), .signsData])) == .certificate)
        #expect(try code(chain(leaf: [.basicConstraints(isAuthority: true), .appleLeafMarker])) == .certificate)
        #expect(
            try code(chain(leaf: [.signsCertificates, .appleLeafMarker])) == .certificate)
        #expect(
            try code(chain(intermediate: [.basicConstraints(isAuthority: true), .signsCertificates])) == .certificate)
        #expect(
            try code(chain(intermediate: [.basicConstraints(isAuthority: false), .appleIntermediateMarker]))
                == .certificate
                || code(chain(intermediate: [.basicConstraints(isAuthority: false), .appleIntermediateMarker]))
                    == .notTrusted
        )
        let odd = CertificateTemplate.Extension([1, 2, 3, 4], isCritical: true, value: DER.null)
        #expect(
            try code(chain(leaf: [.basicConstraints(isAuthority: false), .signsData, .appleLeafMarker, odd]))
                == .certificate)
        #expect(try code(chain(signedBy: SigningKey())) == .notTrusted)
    }

    @Test func certificatesThatDoNotBelongTogetherAreRefused() throws {
        let payload = ReceiptForge.builder().payload
        // The signer alone; more than are looked at.
        #expect(code(try forge.sign(payload, chain: [forge.chain[0]])) == .notTrusted)
        let strangers = try (0..<8).flatMap { _ in try CertificateAuthority(makingAt: ReceiptForge.now).chain }
        #expect(code(try forge.sign(payload, chain: forge.chain + strangers)) == .certificate)
        // A root of the same name with another key.
        #expect(code(try receipt(), roots: .apple) == .notTrusted)
    }

    @Test func aReceiptThatNobodySignedIsRefused() throws {
        func identifier(_ last: UInt64) -> [UInt8] { DER.objectIdentifier([1, 2, 840, 113549, 1, 7, last]) }
        let data = DER.sequence(
            identifier(1), DER.value(0xA0, DER.octets(ReceiptForge.builder(purchases: []).payload)))
        let signed = DER.sequence(DER.integer([1]), DER.set(), data, DER.set())
        #expect(code(DER.sequence(identifier(2), DER.value(0xA0, signed))) == .certificate)
    }

    @Test func certificatesMustHaveBeenValidWhenTheReceiptWasMade() throws {
        func receipt(made: Timestamp?) throws -> [UInt8] { try forge.sign(ReceiptForge.builder(made: made).payload) }
        let year = Duration.seconds(365 * 86_400)
        #expect(code(try receipt(made: ReceiptForge.made - year - year)) == .expired)
        #expect(code(try receipt(made: ReceiptForge.made + year)) == .expired)
        #expect(code(try receipt(made: ReceiptForge.made), now: ReceiptForge.now + year) == nil)
        // Made in the future, or at no time at all: then today counts.
        #expect(code(try receipt(made: ReceiptForge.made), now: ReceiptForge.made - .seconds(7200)) == .expired)
        #expect(code(try receipt(made: ReceiptForge.made), now: ReceiptForge.made - .seconds(60)) == nil)
    }

    @Test func aReceiptWithoutADateIsJudgedToday() throws {
        var builder = ReceiptForge.builder()
        builder.attributes[5] = ReceiptBuilder.date(12, nil)
        let bytes = try forge.sign(builder.payload)
        #expect(code(bytes) == .expired)
        #expect(code(bytes, now: ReceiptForge.made) == nil)
    }

    // MARK: What was asked for

    @Test func theAppTheEnvironmentAndTheDeviceAreChecked() throws {
        let bytes = try receipt()
        #expect(code(bytes, expecting: .init(bundleID: "com.example", environment: .sandbox)) == nil)
        #expect(code(bytes, expecting: .init(bundleID: "com.exampl")) == .wrongApp)
        #expect(code(bytes, expecting: .init(environment: .production)) == .wrongEnvironment)
        #expect(code(bytes, expecting: .init(device: ReceiptForge.device)) == nil)
        #expect(code(bytes, expecting: .init(device: [UInt8](repeating: 0, count: 16))) == .wrongDevice)
        #expect(code(bytes, expecting: .init(device: [])) == .wrongDevice)
    }

    @Test func rootsThatAreNoneAreRefused() throws {
        #expect(throws: TrustedRootsError.self) { try ReceiptRoots(file: []) }
        #expect(throws: TrustedRootsError.self) { try ReceiptRoots(file: forge.chain[0]) }
        #expect(throws: TrustedRootsError.self) { try ReceiptRoots(file: Array("no certificate".utf8)) }
        let both = forge.roots.adding(.apple)
        #expect(both.fingerprints.count == 3)
    }
}

/// The command as people and scripts call it.
@Suite struct ReceiptCommandTests {
    let forge: ReceiptForge
    let root = "\(Command.packageFolder)/Tests/AppStoreTests/Fixtures/Receipts/root.pem"

    init() throws { forge = try ReceiptForge() }

    func holdfast(_ input: [UInt8], _ arguments: String...) async throws -> Command.Result {
        let folder = try TemporaryFolder()
        let file = try folder.write(input, to: "receipt")
        return try await Command.run(try ChildProcess.product("holdfast"), ["receipt"] + arguments + [file])
    }

    @Test func aGoodReceiptIsShownWithItsPurchases() async throws {
        let bytes = try forge.sign(ReceiptForge.builder().payload)
        let device = Hexadecimal.encode(ReceiptForge.device)
        let shown = try await holdfast(
            bytes, "--root", root, "--bundle-id=com.example", "--environment=sandbox", "--device-id", device)
        #expect(shown.status == 0, "\(shown.output)")
        let lines = shown.output.split(separator: "\n")
        #expect(lines.first == "an app receipt for com.example, signed under the given root, not Apple's")
        #expect(lines.dropFirst().first?.contains("2000000123") == true)
        #expect(
            shown.output.contains("2000000123   2000000100  pro.monthly  1         2023-05-15T12:00:00Z  2023-06-14"))
        let json = try await holdfast(Array(Base64.encode(bytes).utf8), "--json", "--root", root)
        #expect(json.status == 0)
        let value = try JSONValue.parse(Array(json.output.utf8))
        #expect(value["transactionId"]?.string == "2000000123")
        #expect(value["fine"]?.bool == true)
        #expect(value["certificates"]?.array?.count == 3)
        #expect(value["receipt"]?["purchases"]?.array?.first?["webOrderLineItemId"]?.int64 == 1_000_000_000_000_042)
        #expect(value["receipt"]?["otherAttributes"]?.array?.first?["value"]?.string == "010203")
        let id = try await holdfast(bytes, "--transaction-id")
        #expect(id.status == 0)
        #expect(id.output == "2000000123\n")
    }

    @Test func badOnesAreExplained() async throws {
        let bytes = try forge.sign(ReceiptForge.builder().payload)
        let untrusted = try await holdfast(bytes)
        #expect(untrusted.status == 1)
        #expect(untrusted.output.contains("which is not a trusted root (notTrusted)"))
        #expect(untrusted.output.contains("claims (nobody vouches for them)"))
        #expect(try await holdfast(bytes, "--root", root, "--bundle-id=com.other").status == 1)
        let jws = try await holdfast(Array(try Forge().sign(Forge.transaction()).utf8), "--json")
        #expect(jws.status == 1)
        let problem = try JSONValue.parse(Array(jws.output.utf8))["problem"]
        #expect(problem?["code"]?.string == "jws")
        #expect(problem?["sentence"]?.string?.contains("holdfast verify") == true)
        let none = try await holdfast(try forge.sign(ReceiptForge.builder(purchases: []).payload), "--transaction-id")
        #expect(none.status == 1)
    }

    @Test func mistakesOfUsageAreToldApart() async throws {
        #expect(try await holdfast([], "--root", "/nonexistent/file").status == 2)
        #expect(try await holdfast([], "--device-id", "12").status == 2)
        #expect(try await holdfast([], "--environment", "test").status == 2)
        #expect(try await holdfast([], "--at", "today").status == 2)
        #expect(try await holdfast([], "more").status == 2)
    }
}
