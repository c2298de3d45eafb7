import AppStore
import Entitlements
import JSON
import Time

/// Signs notifications as the App Store does, with an authority of the tests' own.
struct Forge {
    static let identity = AppIdentity(bundleID: "com.example.demo", appAppleID: 1_234_567)
    /// Making keys is slow; all tests share these.
    static let authority = Result { try CertificateAuthority(makingAt: Forge.now) }
    static let now = Timestamp(milliseconds: 1_764_000_000_000)

    static func verifier(_ authority: CertificateAuthority? = nil) throws -> NotificationVerifier {
        let root = try authority?.rootDER ?? self.authority.get().rootDER
        return NotificationVerifier(JWSVerifier(roots: try TrustedRoots(der: [root])))
    }

    /// The body of a notification about one monthly period.
    static func notification(
        _ type: String = "SUBSCRIBED", _ subtype: String? = nil, lineage: String, transaction: String? = nil,
        product: String = "pro.month",
        bundle: String = identity.bundleID, environment: String = "Sandbox", signed: Timestamp = now,
        purchased: Timestamp = now, token: String? = nil, uuid: String? = nil,
        by authority: CertificateAuthority? = nil,
        _ more: (inout JSONWriter) -> Void = { _ in }
    ) throws -> [UInt8] {
        let inner = try self.transaction(
            lineage: lineage, transaction: transaction, product: product, bundle: bundle, environment: environment,
            signed: signed, purchased: purchased, token: token, by: authority, more)
        let renewal = try sign(authority) {
            $0.member("originalTransactionId", lineage)
            $0.member("autoRenewProductId", product)
            $0.member("productId", product)
            $0.member("autoRenewStatus", 1)
            $0.member("signedDate", signed.milliseconds)
            $0.member("environment", environment)
        }
        return try envelope(
            type, subtype, bundle: bundle, environment: environment, signed: signed, uuid: uuid, by: authority
        ) {
            $0.member("signedTransactionInfo", inner)
            $0.member("signedRenewalInfo", renewal)
            $0.member("status", 1)
        }
    }

    /// A transaction as a device has it: one monthly period.
    static func transaction(
        lineage: String, transaction: String? = nil, product: String = "pro.month",
        bundle: String = identity.bundleID, environment: String = "Sandbox", signed: Timestamp = now,
        purchased: Timestamp = now, token: String? = nil, by authority: CertificateAuthority? = nil,
        _ more: (inout JSONWriter) -> Void = { _ in }
    ) throws -> String {
        try sign(authority) {
            $0.member("transactionId", transaction ?? lineage)
            $0.member("originalTransactionId", lineage)
            $0.member("bundleId", bundle)
            $0.member("productId", product)
            $0.member("purchaseDate", purchased.milliseconds)
            $0.member("expiresDate", (purchased + .seconds(30 * 86_400)).milliseconds)
            $0.member("type", "Auto-Renewable Subscription")
            if let token { $0.member("appAccountToken", token) }
            $0.member("inAppOwnershipType", "PURCHASED")
            $0.member("signedDate", signed.milliseconds)
            $0.member("environment", environment)
            more(&$0)
        }
    }

    /// The body of a TEST notification: no transaction in it.
    static func testNotification() throws -> [UInt8] { try emptyNotification("TEST") }

    /// The body of a notification that has `data` without a transaction.
    static func emptyNotification(_ type: String) throws -> [UInt8] {
        try envelope(type, bundle: identity.bundleID, environment: "Sandbox", signed: now) { _ in }
    }

    /// Signed by somebody else's authority.
    static func forgedNotification() throws -> [UInt8] {
        let payload = try CertificateAuthority(makingAt: now).sign(Array(#"{"notificationType":"TEST"}"#.utf8))
        return SignedBody.body(signedPayload: payload)
    }

    private static func envelope(
        _ type: String, _ subtype: String? = nil, bundle: String, environment: String, signed: Timestamp,
        uuid: String? = nil, by authority: CertificateAuthority? = nil,
        _ data: (inout JSONWriter) -> Void
    ) throws -> [UInt8] {
        let payload = try sign(authority) {
            $0.member("notificationType", type)
            if let subtype { $0.member("subtype", subtype) }
            $0.member("notificationUUID", uuid ?? "uuid-\(UInt64.random(in: .min ... .max))")
            $0.member("version", "2.0")
            $0.member("signedDate", signed.milliseconds)
            $0.object("data") {
                $0.member("bundleId", bundle)
                $0.member("environment", environment)
                if environment == "Production" { $0.member("appAppleId", identity.appAppleID) }
                data(&$0)
            }
        }
        return SignedBody.body(signedPayload: payload)
    }

    private static func sign(
        _ authority: CertificateAuthority? = nil, _ members: (inout JSONWriter) -> Void
    ) throws -> String {
        var json = JSONWriter()
        json.beginObject()
        members(&json)
        json.endObject()
        return try (authority ?? self.authority.get()).sign(json.bytes)
    }
}
