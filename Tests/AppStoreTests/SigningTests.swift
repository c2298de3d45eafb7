import AppStore
import TestSupport
import Testing
import Time

@Suite struct SigningTests {
    let now = Timestamp(milliseconds: 1_796_000_000_000)

    @Test func anES256SignatureIsSixtyFourBytesAndVerifies() throws {
        let key = try SigningKey()
        let message = Array("message".utf8)
        for _ in 0..<200 {
            let signature = try key.es256Signature(of: message)
            #expect(signature.count == 64)
            #expect(try key.verifyingKey().isES256Signature(signature, of: message[...]))
        }
    }

    @Test func aSignatureOfSomethingElseDoesNotVerify() throws {
        let key = try SigningKey()
        let verifying = try key.verifyingKey()
        var signature = try key.es256Signature(of: Array("message".utf8))
        #expect(!verifying.isES256Signature(signature, of: Array("massage".utf8)[...]))
        #expect(try !SigningKey().verifyingKey().isES256Signature(signature, of: Array("message".utf8)[...]))
        signature[7] ^= 1
        #expect(!verifying.isES256Signature(signature, of: Array("message".utf8)[...]))
        #expect(!verifying.isES256Signature(Array(signature.dropLast()), of: Array("message".utf8)[...]))
        #expect(!verifying.isES256Signature([UInt8](repeating: 0, count: 64), of: Array("message".utf8)[...]))
        #expect(!verifying.isES256Signature([UInt8](repeating: 255, count: 64), of: Array("message".utf8)[...]))
    }

    @Test(arguments: [Curve.p256, .p384])
    func aKeySurvivesItsPEMForm(curve: Curve) throws {
        let key = try SigningKey(generating: curve)
        let again = try SigningKey(pem: try key.pem())
        #expect(again.curve == curve)
        #expect(try again.subjectPublicKeyInfo() == key.subjectPublicKeyInfo())
    }

    @Test(arguments: [
        "", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nMIGHAgEA", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----",
    ])
    func whatIsNoKeyIsRefused(text: String) {
        #expect(throws: SigningError.self) { try SigningKey(pem: text) }
    }

    @Test func onlyP256MakesES256() throws {
        let key = try SigningKey(generating: .p384)
        #expect(throws: SigningError.self) { try key.es256Signature(of: [1]) }
    }

    @Test func theAuthoritysCertificatesAreAboutAsLargeAsApples() throws {
        let sizes = try CertificateAuthority(makingAt: now).chain.map(\.count)
        for (size, real) in zip(sizes, [1077, 794, 583]) { #expect(abs(size - real) < 60, "\(size) for \(real)") }
    }

    @Test func aSavedAuthorityKeepsItsRoot() throws {
        let folder = try TemporaryFolder()
        let first = try CertificateAuthority(inFolder: folder.path, now: now)
        let second = try CertificateAuthority(inFolder: folder.path, now: now + .seconds(1))
        #expect(first.chain == second.chain)
        #expect(try second.leaf.key.subjectPublicKeyInfo() == first.leaf.key.subjectPublicKeyInfo())
        #expect(first.rootPEM.hasPrefix("-----BEGIN CERTIFICATE-----\n"))
    }

    @Test func aSignedPayloadHasThreePartsAndTheChainInItsHeader() throws {
        let authority = try CertificateAuthority(makingAt: now)
        let parts = try authority.sign(Array("{}".utf8)).split(separator: ".")
        #expect(parts.count == 3)
        let header = String(decoding: Base64URL.decode(String(parts[0])) ?? [], as: UTF8.self)
        #expect(header.hasPrefix("{\"alg\":\"ES256\",\"x5c\":[\"\(Base64.encode(authority.chain[0]))\""))
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        let signature = try #require(Base64URL.decode(String(parts[2])))
        #expect(try authority.leaf.key.verifyingKey().isES256Signature(signature, of: signed[...]))
    }
}
