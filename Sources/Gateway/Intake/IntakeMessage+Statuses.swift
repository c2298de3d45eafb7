package import AppStore
internal import Entitlements
internal import Time

extension IntakeMessage {
    /// What Apple answered about a lineage, for the intake: to be applied, and into the ledger.
    package init(statuses: StatusMessage, correlation: String) {
        self.init(
            headers: [
                PurchaseMessage.kindHeader: StatusMessage.kind, "app": statuses.question.lineage.app.rawValue,
                "environment": statuses.question.lineage.environment.rawValue, "correlation": correlation,
                "received-at": statuses.answeredAt.rfc3339,
            ], messageID: statuses.id, body: statuses.encoded())
    }
}
