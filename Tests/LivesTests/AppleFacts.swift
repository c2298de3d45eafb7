import Entitlements
import Time

@testable import AppStore
@testable import Simulator

/// Makes observations of what the store says by way of Apple's payloads, without paying for signatures: that a signature
/// makes no difference is `RandomLivesTests`' business.
struct AppleFacts: Sendable {
    let chain: VerifiedChain
    let settings: StoreSettings
    let storefront = Storefront(code: "USA")

    init(settings: StoreSettings) throws {
        self.settings = settings
        // Nothing but a verification makes a chain; one is enough.
        let authority = try CertificateAuthority(makingAt: LifeCatalog.start)
        let verifier = JWSVerifier(roots: try TrustedRoots(der: [authority.rootDER]))
        let jws = try authority.sign(Array(#"{"transactionId":"1"}"#.utf8))
        chain = try verifier.verify(Array(jws.utf8)[...], as: TransactionPayload.self, now: LifeCatalog.start).chain
    }

    func observation(of notification: StoreNotification) throws -> Observation? {
        guard let transaction = notification.transaction else { return nil }
        return try observation(
            .notification, transaction, notification.renewal, notification.status, signedAt: notification.signedDate)
    }

    func observation(
        _ source: Observation.Source, _ transaction: StoreTransaction, _ renewal: StoreRenewal?, _ status: Int64?,
        signedAt signedDate: Timestamp
    ) throws -> Observation {
        let bytes = transaction.payload(signedAt: signedDate, in: settings, storefront)
        let fact = try Verified(payload: TransactionPayload(json: bytes), bytes: bytes, chain: chain).fact()
        let renewalFact = try renewal.map { renewal in
            let bytes = renewal.payload(signedAt: signedDate, in: settings, storefront)
            return try Verified(payload: RenewalInfoPayload(json: bytes), bytes: bytes, chain: chain).fact()
        }
        return Observation(
            lineage: LineageID(
                app: LifeCatalog.app, environment: .production, originalTransactionID: transaction.originalID),
            source: source, signedDate: signedDate, transaction: fact, renewal: renewalFact,
            status: status.map { StatusFact(status: $0, signedDate: signedDate) })
    }
}
