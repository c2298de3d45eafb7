import AppStore
import Time

/// Notifications as Apple sends them when a subscription renews: all members that such a one has, three certificates in
/// each of three headers, 19 kB. No two are alike.
struct Notifications {
    static let identity = AppIdentity(bundleID: "com.example.app", appAppleID: 1_234_567_890)

    let authority: CertificateAuthority
    let now: Timestamp

    init(now: Timestamp) throws {
        self.now = now
        authority = try CertificateAuthority(makingAt: now)
    }

    func roots() throws -> TrustedRoots { try TrustedRoots(der: [authority.rootDER]) }

    func signedPayload(_ number: Int) throws -> String {
        let signed = now.milliseconds - 1000 - Int64(number)
        let (begin, end) = (signed - 60_000, signed + 2_592_000_000)
        let digits = String(number + 10_000_000)
        let token = "7e3fb20b-4cdb-47cc-936d-99d6\(digits)"
        let shared = """
            "originalTransactionId":"2000000\(digits)","environment":"Production","signedDate":\(signed),\
            "productId":"com.example.app.pro.monthly","currency":"USD","appAccountToken":"\(token)",\
            "appTransactionId":"70412345\(digits)","offerType":1,"offerPeriod":"P1M","offerDiscountType":"PAY_AS_YOU_GO"
            """
        let transaction = """
            {"transactionId":"2100000\(digits)","webOrderLineItemId":"2200000\(digits)","bundleId":"com.example.app",\
            "subscriptionGroupIdentifier":"20645012","purchaseDate":\(begin),"originalPurchaseDate":\(begin - 86_400_000),\
            "expiresDate":\(end),"quantity":1,"type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED",\
            "transactionReason":"RENEWAL","storefront":"USA","storefrontId":"143441","price":\(9990 + number % 1000),\
            "isUpgraded":false,\(shared)}
            """
        let renewal = """
            {"autoRenewProductId":"com.example.app.pro.monthly","autoRenewStatus":1,"renewalPrice":\(9990 + number % 1000),\
            "recentSubscriptionStartDate":\(begin - 86_400_000),"renewalDate":\(end),"isInBillingRetryPeriod":false,\
            \(shared)}
            """
        return try sign(
            """
            {"notificationType":"DID_RENEW","notificationUUID":"002e14d5-51f5-4503-b5a8-c3a1\(digits)","version":"2.0",\
            "signedDate":\(signed),"data":{"appAppleId":1234567890,"bundleId":"com.example.app","bundleVersion":"1.2.3",\
            "environment":"Production","signedTransactionInfo":"\(try sign(transaction))",\
            "signedRenewalInfo":"\(try sign(renewal))","status":1}}
            """)
    }

    private func sign(_ payload: String) throws -> String { try authority.sign(Array(payload.utf8)) }
}
