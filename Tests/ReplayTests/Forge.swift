import AppStore
import JSON
import Time

/// Signs notifications as the App Store does, with an authority of the tests' own.
enum Forge {
    static let identity = AppIdentity(bundleID: "com.example.demo", appAppleID: 1_234_567)
    /// Making keys is slow; all tests share these.
    static let authority = Result { try CertificateAuthority(makingAt: Forge.now) }
    static let now = Timestamp(milliseconds: 1_764_000_000_000)

    /// The body of a notification about one monthly period.
    static func notification(
        _ type: String = "SUBSCRIBED", lineage: String, signed: Timestamp = now, purchased: Timestamp = now,
        bundle: String = identity.bundleID, token: String? = nil, revoked: Timestamp? = nil
    ) throws -> [UInt8] {
        let transaction = try transaction(
            lineage: lineage, signed: signed, purchased: purchased, bundle: bundle, token: token, revoked: revoked)
        return try envelope(type, signed: signed, bundle: bundle) { $0.member("signedTransactionInfo", transaction) }
    }

    /// One monthly period.
    static func transaction(
        lineage: String, signed: Timestamp = now, purchased: Timestamp = now, bundle: String = identity.bundleID,
        token: String? = nil, revoked: Timestamp? = nil
    ) throws -> String {
        try sign {
            $0.member("transactionId", lineage)
            $0.member("originalTransactionId", lineage)
            $0.member("bundleId", bundle)
            $0.member("productId", "pro.month")
            $0.member("purchaseDate", purchased.milliseconds)
            $0.member("expiresDate", (purchased + .seconds(30 * 86_400)).milliseconds)
            $0.member("type", "Auto-Renewable Subscription")
            if let token { $0.member("appAccountToken", token) }
            if let revoked { $0.member("revocationDate", revoked.milliseconds) }
            $0.member("inAppOwnershipType", "PURCHASED")
            $0.member("signedDate", signed.milliseconds)
            $0.member("environment", "Production")
        }
    }

    /// The body of a TEST notification: no transaction in it.
    static func testNotification() throws -> [UInt8] { try envelope("TEST", signed: now) { _ in } }

    private static func envelope(
        _ type: String, signed: Timestamp, bundle: String = identity.bundleID, _ data: (inout JSONWriter) -> Void
    ) throws -> [UInt8] {
        let payload = try sign {
            $0.member("notificationType", type)
            $0.member("notificationUUID", "uuid-\(UInt64.random(in: .min ... .max))")
            $0.member("version", "2.0")
            $0.member("signedDate", signed.milliseconds)
            $0.object("data") {
                $0.member("bundleId", bundle)
                $0.member("environment", "Production")
                $0.member("appAppleId", identity.appAppleID)
                data(&$0)
            }
        }
        return SignedBody.body(signedPayload: payload)
    }

    private static func sign(_ members: (inout JSONWriter) -> Void) throws -> String {
        var json = JSONWriter()
        json.beginObject()
        members(&json)
        json.endObject()
        return try authority.get().sign(json.bytes)
    }
}
