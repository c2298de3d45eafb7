import AppStore
import Entitlements
import Testing
import Time

@testable import Simulator

/// What the simulator signs is what our own verification takes for Apple's, given its root.
@Suite struct SignedNotificationTests {
    private static let authority: CertificateAuthority? = try? CertificateAuthority(makingAt: Demo.start)

    private func signer(_ settings: StoreSettings) throws -> NotificationSigner {
        NotificationSigner(
            authority: try #require(Self.authority), settings: settings, storefront: Storefront(code: "USA"))
    }

    private static let verifier = authority.flatMap { try? TrustedRoots(der: [$0.rootDER]) }.map {
        NotificationVerifier(JWSVerifier(roots: $0))
    }

    private func verify(_ body: [UInt8], at now: Timestamp, _ settings: StoreSettings) throws -> VerifiedNotification {
        try #require(Self.verifier).verify(
            body, for: AppIdentity(bundleID: settings.bundleID, appAppleID: settings.appAppleID), now: now)
    }

    /// A life in which every kind of notification comes up.
    private func life(_ settings: StoreSettings) throws -> [StoreNotification] {
        var store = Demo.store(settings)
        var events: [StoreEvent] = []
        func day(_ count: Int) -> Timestamp { Demo.start + Demo.day * count }
        func act(_ count: Int, _ command: StoreCommand, _ account: String = Demo.account) throws {
            events += store.advance(to: day(count))
            events += try store.perform(command, for: account, at: day(count))
        }
        let member = try store.createAccount(at: Demo.start).token
        try act(0, .buy("basic.monthly"))
        try act(1, .change(to: "premium.monthly"))
        try act(2, .change(to: "premium.yearly"))
        try act(3, .change(to: "premium.monthly"))
        try act(4, .cancel())
        try act(5, .resume())
        try act(6, .raisePrice(to: 19_990))
        try act(7, .consent())
        try act(8, .extend(days: 3))
        try act(40, .payment(fails: true, grace: true))
        try act(70, .payment(fails: false))
        try act(80, .payment(fails: true, grace: false))
        try act(99, .payment(fails: false))
        try act(100, .cancel())
        events += store.advance(to: day(140))
        try act(150, .buy("premium.yearly"))
        try act(151, .share(with: member))
        try act(152, .requestRefund())
        try act(153, .declineRefund())
        try act(154, .refund(reason: 1))
        try act(155, .reverseRefund())
        try act(160, .buy("lifetime"))
        events.append(store.testNotification(at: day(161)))
        return events.notifications
    }

    @Test(arguments: StoreSettings.Environment.allCases)
    func everyNotificationVerifiesAndSaysWhatHappened(_ environment: StoreSettings.Environment) async throws {
        let settings = StoreSettings(environment: environment)
        let signer = try signer(settings)
        let notifications = try life(settings)
        let kinds = Set(notifications.map(\.name))
        #expect(
            kinds.isSuperset(of: [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/UPGRADE", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE",
                "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "PRICE_INCREASE/PENDING", "PRICE_INCREASE/ACCEPTED",
                "RENEWAL_EXTENDED", "DID_RENEW", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "DID_FAIL_TO_RENEW",
                "DID_RENEW/BILLING_RECOVERY", "EXPIRED/VOLUNTARY", "SUBSCRIBED/RESUBSCRIBE", "CONSUMPTION_REQUEST",
                "REFUND_DECLINED", "REFUND", "REVOKE", "REFUND_REVERSED", "ONE_TIME_CHARGE", "TEST",
            ]))
        for notification in notifications {
            let body = try await signer.body(of: notification)
            let verified = try verify(body, at: notification.signedDate, settings)
            #expect(verified.warnings.isEmpty)
            #expect(verified.environment == (environment == .production ? .production : .sandbox))
            #expect(verified.payload.notificationType?.raw == notification.type)
            #expect(verified.payload.subtype?.raw == notification.subtype)
            #expect(verified.payload.notificationUUID == notification.uuid)
            #expect(verified.signedDate == notification.signedDate)
            let observation = verified.observation(app: AppID("demo"))
            guard let transaction = notification.transaction else {
                #expect(observation == nil)
                continue
            }
            let fact = try #require(observation?.transaction)
            #expect(observation?.lineage.originalTransactionID == transaction.originalID)
            #expect(observation?.status?.status == notification.status)
            #expect(fact.transactionID == transaction.id)
            #expect(fact.productID == transaction.product.id)
            #expect(fact.purchaseDate == transaction.purchaseDate)
            #expect(fact.expiresDate == transaction.expiresDate)
            #expect(fact.appAccountToken == transaction.accountToken)
            #expect(fact.revocationDate == transaction.revocation?.date)
            #expect(fact.isUpgraded == transaction.isUpgraded)
            #expect(fact.price == transaction.price)
            #expect((observation?.renewal == nil) == (notification.renewal == nil))
            if let renewal = notification.renewal {
                let subscription = renewal.subscription
                #expect(observation?.renewal?.autoRenewProductID == subscription.nextProductID)
                #expect(observation?.renewal?.autoRenewStatus == (subscription.willRenew ? 1 : 0))
                #expect(observation?.renewal?.isInBillingRetryPeriod == subscription.isFailingToPay)
            }
        }
    }

    @Test func aSubscriptionsBodyIsAsLargeAsApples() async throws {
        let settings = StoreSettings()
        let notification = try #require(try life(settings).first)
        let body = try await signer(settings).body(of: notification)
        #expect((17_000...21_000).contains(body.count))
    }

    @Test func nobodyElsesRootTakesIt() async throws {
        let settings = StoreSettings()
        let body = try await signer(settings).body(of: try #require(try life(settings).first))
        let verifier = NotificationVerifier(JWSVerifier(roots: .apple))
        #expect(throws: VerificationFailure.self) {
            try verifier.verify(
                body, for: AppIdentity(bundleID: settings.bundleID, appAppleID: settings.appAppleID), now: Demo.start)
        }
    }

    @Test func sandboxNamesNoAppleID() throws {
        let settings = StoreSettings(environment: .sandbox)
        let payload = try signer(settings).signedPayload(of: try #require(try life(settings).first))
        let parts = payload.split(separator: ".")
        let json = String(decoding: try #require(Base64URL.decode(String(parts[1]))), as: UTF8.self)
        #expect(!json.contains("appAppleId"))
        #expect(json.contains(#""environment":"Sandbox""#))
    }
}
