internal import JSON
package import Time

/// The bearer token of the App Store Server API: a JWT (ES256) that says who asks, for which app, until when.
package struct ServerAPIToken: Sendable, Hashable {
    package var issuerID: String
    package var keyID: String
    package var bundleID: String
    package var issuedAt: Timestamp
    package var expiresAt: Timestamp

    package static let audience = "appstoreconnect-v1"
    /// Apple refuses tokens that live longer.
    package static let longestLife: Duration = .seconds(3600)
    /// What a fresh token is given unless its maker says otherwise.
    package static let life: Duration = .seconds(300)
    /// A fresh token is dated back, for a server whose clock is behind refuses one that was issued in the future.
    package static let backdating: Duration = .seconds(60)

    /// A signed token, good from now on for `life`.
    package static func make(
        issuerID: String, keyID: String, bundleID: String, key: SigningKey, now: Timestamp,
        life: Duration = Self.life, backdating: Duration = Self.backdating
    ) throws(SigningError) -> String {
        var header = JSONWriter()
        header.beginObject()
        header.member("alg", "ES256")
        header.member("kid", keyID)
        header.member("typ", "JWT")
        header.endObject()
        var claims = JSONWriter()
        claims.beginObject()
        claims.member("iss", issuerID)
        claims.member("iat", (now - backdating).milliseconds / 1000)
        claims.member("exp", (now + life).milliseconds / 1000)
        claims.member("aud", audience)
        claims.member("bid", bundleID)
        claims.endObject()
        return try SignedJWS.make(header: header.bytes, payload: claims.bytes, key: key)
    }

    /// Reads and checks a token as Apple does; `keys` finds the public key of a key id.
    package static func verify(
        _ token: String, audience: String = ServerAPIToken.audience, now: Timestamp, keys: (String) -> VerifyingKey?
    ) throws(ServerAPITokenError) -> ServerAPIToken {
        guard let jws = CompactJWS(Array(token.utf8)[...]), let header = Base64URL.decode(jws.header),
            let payload = Base64URL.decode(jws.payload), let signature = Base64URL.decode(jws.signature)
        else { throw .malformed }
        let head: JSONValue
        let claims: JSONValue
        do throws(JSONError) {
            head = try JSONValue.parse(header, maximumDepth: 4)
            claims = try JSONValue.parse(payload, maximumDepth: 4)
        } catch { throw .malformed }
        guard head["alg"]?.string == "ES256", head["typ"].map({ $0.string == "JWT" }) ?? true, head["crit"] == nil
        else {
            throw .algorithm
        }
        guard let keyID = head["kid"]?.string, let key = keys(keyID) else { throw .unknownKey }
        guard key.isES256Signature(signature, of: jws.signedPart) else { throw .signature }
        guard let issuerID = claims["iss"]?.string, !issuerID.isEmpty, let bundleID = claims["bid"]?.string,
            !bundleID.isEmpty, claims["aud"]?.string == audience, let expiry = claims["exp"]?.int64
        else { throw .claims }
        // Apple takes tokens without `iat`: its Java and Python libraries send none.
        let issued = claims["iat"].map { $0.int64 ?? .max } ?? now.milliseconds / 1000
        guard seconds.contains(expiry), seconds.contains(issued) else { throw .claims }
        let expiresAt = Timestamp(milliseconds: expiry * 1000)
        let issuedAt = Timestamp(milliseconds: issued * 1000)
        guard issuedAt <= now, expiresAt > now, expiresAt - now <= longestLife else { throw .expired }
        return ServerAPIToken(
            issuerID: issuerID, keyID: keyID, bundleID: bundleID, issuedAt: issuedAt, expiresAt: expiresAt)
    }
}

/// Seconds since 1970 that are dates at all: up to the year 9999.
private let seconds: ClosedRange<Int64> = 0...253_402_300_799

/// Why a token is not accepted; Apple answers 401 to all of them.
package enum ServerAPITokenError: String, Error, Sendable, CustomStringConvertible {
    case malformed = "the token is not a compact JWS of two JSON objects"
    case algorithm = "the token's algorithm is not ES256"
    case unknownKey = "the token names no key that is known"
    case signature = "the token was not signed by the key it names"
    case claims = "the token lacks an issuer, a bundle id, the audience or an expiry"
    case expired = "the token is expired, lives too long or was issued in the future"

    package var description: String { rawValue }
}
