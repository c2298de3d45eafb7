import AppStore
import Entitlements
import JSON
import Testing
import Time

/// Every code of refusal, produced for real.
@Suite struct FailureCodeTests {
    typealias Code = VerificationFailure.Code
    let forge: Forge

    init() throws { forge = try Forge() }

    /// What OpenSSL cannot decide cannot be provoked; revocation has tests of its own.
    static let elsewhere: Set<Code> = [.undecidable, .revoked, .revocationUnknown]

    func notification(_ jws: String, _ verifier: JWSVerifier? = nil) throws -> VerificationFailure? {
        let verifier = NotificationVerifier(try verifier ?? forge.verifier())
        return failure {
            _ = try verifier.verify(SignedBody.body(signedPayload: jws), for: Forge.identity, now: Forge.now)
        }
    }

    func provoke(_ code: Code) throws -> VerificationFailure? {
        let chain = forge.authority.chain
        switch code {
        case .malformed: return try notification("a.b")
        case .algorithm: return try notification(try forge.sign("{}", header: #"{"alg":"none","x5c":[]}"#))
        case .chainLength: return try notification(try forge.sign("{}", x5c: Array(chain.prefix(2))))
        case .certificate: return try notification(try forge.sign("{}", x5c: [[1], chain[1], chain[2]]))
        case .expired:
            let old = Forge.date(Forge.now - .seconds(9 * 365 * 86_400))
            return try notification(try forge.notification(["signedDate": old]))
        case .notTrusted: return try notification(try Forge().notification())
        case .signature:
            return try notification(try forge.sign(#"{"notificationType":"TEST"}"#, key: SigningKey()))
        case .payload: return try notification(try forge.sign("[]"))
        case .unknownShape: return try notification(try forge.notification(["data": nil]))
        case .wrongKind: return try notification(try forge.sign(Forge.transaction()))
        case .wrongApp: return try notification(try forge.notification(data: ["bundleId": .string("com.other")]))
        case .wrongEnvironment:
            return try notification(try forge.notification(data: ["environment": .string("Xcode")]))
        case .disagreement:
            return try notification(
                try forge.notification(
                    transaction: try forge.sign(Forge.transaction(["environment": .string("Sandbox")]))))
        case .signedTooFarAhead:
            return try notification(
                try forge.notification(["signedDate": Forge.date(Forge.now + .seconds(7200))]))
        case .busy:
            let flood = try ChainCacheTests()
            let verifier = try flood.forge.verifier { $0.unknownChainsPerSecond = 0 }
            // The first within a second opens the window, those after it meet the bound, whenever the second begins.
            for _ in 0..<20 {
                let found = try notification(try flood.impostor(), verifier)
                if found?.code == .busy { return found }
            }
            return nil
        case .undecidable, .revoked, .revocationUnknown: return nil
        }
    }

    @Test("Each refusal has a code and a sentence of its own, and permanent ones are told from passing ones")
    func eachRefusalHasACodeAndASentenceOfItsOwn() throws {
        var sentences: Set<String> = []
        for code in Code.allCases where !Self.elsewhere.contains(code) {
            let found = try #require(try provoke(code), "\(code)")
            #expect(found.code == code)
            #expect(found.sentence.count > 10)
            #expect(sentences.insert(found.sentence).inserted, "\(found.sentence)")
            #expect(found.isRetryable == (code == .busy))
            #expect(found.description.hasSuffix("(\(code.rawValue))"))
        }
    }
}
