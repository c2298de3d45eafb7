import Entitlements
import Time

@testable import AppStore
@testable import Simulator

/// Makes observations of what the store of one environment says, by way of Apple's payloads.
///
/// Signing and verifying are most of the cost, and change nothing: so most lives decode the bytes that would be signed.
/// Where `isSigned`, everything is signed, verified by the verifiers that Holdfast runs, and compared.
struct AppleFacts: Sendable {
    struct Mismatch: Error { let signed, decoded: Observation }

    let environment: StoreEnvironment
    let settings: StoreSettings
    var isSigned = false
    private let signer: NotificationSigner
    private let verifier: NotificationVerifier
    private let chain: VerifiedChain

    init(_ environment: StoreEnvironment, authority: CertificateAuthority) throws {
        self.environment = environment
        settings = StoreSettings(environment: environment == .production ? .production : .sandbox, seed: 1)
        signer = NotificationSigner(authority: authority, settings: settings, storefront: Storefront(code: "USA"))
        verifier = NotificationVerifier(JWSVerifier(roots: try TrustedRoots(der: [authority.rootDER])))
        // Nothing but a verification makes a chain; one is enough.
        let jws = try authority.sign(Array(#"{"transactionId":"1"}"#.utf8))
        chain = try verifier.verifier.verify(
            Array(jws.utf8)[...], as: TransactionPayload.self, now: LifeCatalog.start
        ).chain
    }

    /// What a notification says of a lineage, if anything.
    func observation(of notification: StoreNotification) throws -> Observation? {
        guard let transaction = notification.transaction else { return nil }
        var decoded = try observation(
            .notification, transaction, notification.renewal, notification.status, signedAt: notification.signedDate)
        decoded.notificationType = notification.type
        decoded.subtype = notification.subtype
        decoded.notificationUUID = notification.uuid
        guard isSigned else { return decoded }
        let signed = try verifier.verify(
            signedPayload: Array(try signer.signedPayload(of: notification).utf8)[...],
            for: AppIdentity(bundleID: settings.bundleID, appAppleID: settings.appAppleID),
            now: notification.signedDate
        ).observation(app: LifeCatalog.app)
        guard let signed, signed == decoded else { throw Mismatch(signed: signed ?? decoded, decoded: decoded) }
        return signed
    }

    /// What an answer of Apple's API says of a lineage.
    func answer(
        _ source: Observation.Source, _ transaction: StoreTransaction, _ renewal: StoreRenewal?, _ status: Int64?,
        signedAt signedDate: Timestamp
    ) throws -> Observation {
        let decoded = try observation(source, transaction, renewal, status, signedAt: signedDate)
        guard isSigned else { return decoded }
        var signed = decoded
        signed.transaction = try verifier.verifier.verify(
            Array(try signer.sign(transaction, at: signedDate).utf8)[...], as: TransactionPayload.self,
            now: signedDate
        ).fact()
        signed.renewal = try renewal.map { renewal in
            try verifier.verifier.verify(
                Array(try signer.sign(renewal, at: signedDate).utf8)[...], as: RenewalInfoPayload.self,
                now: signedDate
            ).fact()
        }
        guard signed == decoded else { throw Mismatch(signed: signed, decoded: decoded) }
        return signed
    }

    private func observation(
        _ source: Observation.Source, _ transaction: StoreTransaction, _ renewal: StoreRenewal?, _ status: Int64?,
        signedAt signedDate: Timestamp
    ) throws -> Observation {
        let bytes = transaction.payload(signedAt: signedDate, in: settings, signer.storefront)
        let fact = try Verified(payload: TransactionPayload(json: bytes), bytes: bytes, chain: chain).fact()
        let renewalFact = try renewal.map { renewal in
            let bytes = renewal.payload(signedAt: signedDate, in: settings, signer.storefront)
            return try Verified(payload: RenewalInfoPayload(json: bytes), bytes: bytes, chain: chain).fact()
        }
        return Observation(
            lineage: LineageID(
                app: LifeCatalog.app, environment: environment, originalTransactionID: transaction.originalID),
            source: source, signedDate: signedDate, transaction: fact, renewal: renewalFact,
            status: status.map { StatusFact(status: $0, signedDate: signedDate) })
    }
}
