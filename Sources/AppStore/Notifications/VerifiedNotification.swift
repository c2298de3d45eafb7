package import Entitlements
package import Time

/// A notification of which every part has been verified, for one app; only `NotificationVerifier` makes one.
package struct VerifiedNotification: Sendable {
    package let envelope: Verified<NotificationPayload>
    package let environment: StoreEnvironment
    package let signedDate: Timestamp
    package let identity: AppIdentity
    package internal(set) var transaction: Verified<TransactionPayload>?
    package internal(set) var renewalInfo: Verified<RenewalInfoPayload>?
    package internal(set) var appTransaction: Verified<AppTransactionPayload>?
    var transactionFact: TransactionFact?
    var renewalFact: RenewalFact?

    init(
        envelope: Verified<NotificationPayload>, environment: StoreEnvironment, signedDate: Timestamp,
        identity: AppIdentity
    ) {
        self.envelope = envelope
        self.environment = environment
        self.signedDate = signedDate
        self.identity = identity
    }

    package var payload: NotificationPayload { envelope.payload }

    /// What could not be used, part by part.
    package var warnings: [(kind: PayloadKind, warning: PayloadWarning)] {
        func of<Payload>(_ verified: Verified<Payload>?) -> [(kind: PayloadKind, warning: PayloadWarning)] {
            verified?.payload.warnings.map { (Payload.kind, $0) } ?? []
        }
        return of(envelope) + of(transaction) + of(renewalInfo) + of(appTransaction)
    }

    /// What this says about a lineage of `app`; nil when it is about none (a TEST, a summary, a purchase token…).
    package func observation(app: AppID) -> Observation? {
        guard let id = transactionFact?.originalTransactionID ?? renewalFact?.originalTransactionID else { return nil }
        var status: StatusFact?
        if case .data(let data) = payload.body, let value = data.status {
            status = StatusFact(status: value.raw, signedDate: signedDate)
        }
        return Observation(
            lineage: LineageID(app: app, environment: environment, originalTransactionID: id), source: .notification,
            signedDate: signedDate, notificationType: payload.notificationType?.raw, subtype: payload.subtype?.raw,
            notificationUUID: payload.notificationUUID, transaction: transactionFact, renewal: renewalFact,
            status: status)
    }
}
