import AppStore
import Testing
import Time

@Suite struct ServerAPITokenTests {
    let key: SigningKey
    let publicKey: VerifyingKey
    let now = Forge.now

    init() throws {
        key = try SigningKey()
        publicKey = try key.verifyingKey()
    }

    func verify(_ token: String, now: Timestamp = Forge.now) -> ServerAPITokenError? {
        do throws(ServerAPITokenError) {
            _ = try ServerAPIToken.verify(token, now: now) { $0 == "KEY" ? publicKey : nil }
            return nil
        } catch { return error }
    }

    func token(
        header: String = #"{"alg":"ES256","kid":"KEY","typ":"JWT"}"#, aud: String = "appstoreconnect-v1",
        exp: Int64 = 300, iat: Int64? = 0, rest: String = #""iss":"issuer","bid":"com.example""#
    ) throws -> String {
        let second = now.milliseconds / 1000
        let issued = iat.map { ",\"iat\":\(second + $0)" } ?? ""
        let claims = "{\(rest),\"aud\":\"\(aud)\",\"exp\":\(second + exp)\(issued)}"
        return try SignedJWS.make(header: Array(header.utf8), payload: Array(claims.utf8), key: key)
    }

    @Test func aTokenMadeHereIsAccepted() throws {
        let token = try ServerAPIToken.make(
            issuerID: "issuer", keyID: "KEY", bundleID: "com.example", key: key, now: now)
        let read = try ServerAPIToken.verify(token, now: now) { $0 == "KEY" ? publicKey : nil }
        #expect(read.issuerID == "issuer")
        #expect(read.bundleID == "com.example")
        #expect(read.expiresAt == now + .seconds(300))
        #expect(read.issuedAt == now - .seconds(60))
        // A clock a minute behind still takes it; one that is past its end does not.
        #expect(verify(token, now: now - .seconds(60)) == nil)
        #expect(verify(token, now: now + .seconds(300)) == .expired)
    }

    @Test func aTokenWithoutTheDateOfIssueIsAccepted() throws { #expect(verify(try token(iat: nil)) == nil) }

    @Test func whatApplesServerRefusesIsRefused() throws {
        #expect(verify(try token()) == nil)
        #expect(verify(try token(exp: 0)) == .expired)
        #expect(verify(try token(exp: 3601)) == .expired)
        #expect(verify(try token(iat: 1)) == .expired)
        #expect(verify(try token(aud: "other")) == .claims)
        #expect(verify(try token(rest: #""iss":"issuer""#)) == .claims)
        #expect(verify(try token(rest: #""iss":"","bid":"com.example""#)) == .claims)
        #expect(verify(try token(exp: .max / 2)) == .claims)
        #expect(verify(try token(header: #"{"alg":"ES256","kid":"OTHER"}"#)) == .unknownKey)
        #expect(verify(try token(header: #"{"alg":"ES256"}"#)) == .unknownKey)
        #expect(verify(try token(header: #"{"alg":"HS256","kid":"KEY"}"#)) == .algorithm)
        #expect(verify(try token(header: #"{"alg":"none","kid":"KEY"}"#)) == .algorithm)
        #expect(verify(try token() + ".") == .malformed)
        #expect(verify("") == .malformed)
        let foreign = try ServerAPIToken.make(
            issuerID: "issuer", keyID: "KEY", bundleID: "com.example", key: SigningKey(), now: now)
        #expect(verify(foreign) == .signature)
    }
}
