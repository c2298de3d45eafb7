import AppStore
import Glibc
import JSON
import Runtime
import TestSupport
import Testing
import Time

/// Others agree with what is made and verified here.
@Suite struct InteroperabilityTests {
    /// RFC 7515, appendix A.3.
    @Test func theES256ExampleOfTheRFCVerifies() throws {
        let x = try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
        let y = try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
        let algorithm = DER.sequence(
            DER.objectIdentifier([1, 2, 840, 10045, 2, 1]), DER.objectIdentifier([1, 2, 840, 10045, 3, 1, 7]))
        let key = try #require(
            VerifyingKey(subjectPublicKeyInfo: DER.sequence(algorithm, DER.bits([4] + x + y))))
        let text = """
            eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290\
            Ijp0cnVlfQ
            """
        let signature = try #require(
            Base64URL.decode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
        #expect(key.isES256Signature(signature, of: Array(text.utf8)[...]))
    }

    @Test func aPublicKeyMustBeOnAKnownCurveAndWhole() throws {
        let good = try SigningKey().subjectPublicKeyInfo()
        #expect(VerifyingKey(subjectPublicKeyInfo: good) != nil)
        #expect(VerifyingKey(subjectPublicKeyInfo: good + [0]) == nil)
        #expect(VerifyingKey(subjectPublicKeyInfo: []) == nil)
        // secp256k1, and a point that is on no curve.
        let k1 = DER.sequence(
            DER.objectIdentifier([1, 2, 840, 10045, 2, 1]), DER.objectIdentifier([1, 3, 132, 0, 10]))
        #expect(VerifyingKey(subjectPublicKeyInfo: DER.sequence(k1, DER.bits(Array(good.suffix(65))))) == nil)
        var bent = good
        bent[bent.count - 1] ^= 1
        #expect(VerifyingKey(subjectPublicKeyInfo: bent) == nil)
    }

    static let openssl = "/usr/bin/openssl"

    @Test(.enabled(if: access(openssl, X_OK) == 0, "needs the openssl command"))
    func opensslAcceptsTheAuthoritysChainInItsStrictMode() async throws {
        let folder = try TemporaryFolder()
        let now = Timestamp(milliseconds: 1_795_448_000_000)
        _ = try CertificateAuthority(inFolder: folder.path, now: now)
        let result = try await Command.run(
            Self.openssl,
            [
                "verify", "-x509_strict", "-attime", "\(now.milliseconds / 1000)", "-CAfile",
                folder.file("root.pem"), "-untrusted", folder.file("intermediate.pem"), folder.file("leaf.pem"),
            ])
        #expect(result.status == 0, "\(result.output)")
    }
}

@Suite struct AppStoreSettingsTests {
    func read(_ json: String) throws -> (AppStoreSettings, [String]) {
        var reader = SettingsReader(file: try JSONValue.parse(Array(json.utf8)), environment: [:])
        let settings = AppStoreSettings(&reader)
        do { try reader.finish() } catch { return (settings, error.problems) }
        return (settings, [])
    }

    @Test func applesRootIsTrustedUnlessAnotherIsNamed() throws {
        let (plain, none) = try read("{}")
        #expect(none.isEmpty)
        #expect(plain.roots.fingerprints == TrustedRoots.apple.fingerprints)
        let file = "\(Command.packageFolder)/Tests/AppStoreTests/Fixtures/testCA.der"
        let (own, alsoNone) = try read("{\"appStore\":{\"roots\":[\"\(file)\"],\"chainAge\":\"5m\"}}")
        #expect(alsoNone.isEmpty)
        #expect(own.roots.fingerprints != TrustedRoots.apple.fingerprints)
        #expect(own.limits.chainAge == .seconds(300))
        let (_, problems) = try read(#"{"appStore":{"roots":["/nonexistent"]}}"#)
        #expect(problems.count == 1)
    }
}
