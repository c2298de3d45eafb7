import AppStore
import Broker
import CacheTier
import Entitlements
import JSON
import Time

/// What a notification leads to by its row of `NotificationTable`, for others to act on.
///
/// It carries what Apple signed in this notification, picked field by field, and what the lineage meant before and after it
/// was applied. Never a whole payload, and no text that a person wrote.
struct OutboundEvent: Sendable {
    let name: EventName
    let app: AppID
    let notification: VerifiedNotification
    /// What applying it did; nil when it is about no lineage.
    let change: AppliedChange?
    /// What the lineage meant just before and just after; nil before when it was not known.
    let before: LineageEvaluation?
    let after: LineageEvaluation?
    let mapVersion: String?
    let at: Timestamp

    init(
        _ notification: VerifiedNotification, app: AppID, rules: ConsumerApp, change: AppliedChange? = nil,
        at instant: Timestamp
    ) {
        name = NotificationTable.row(of: notification.payload).event
        self.app = app
        self.notification = notification
        self.change = change
        let map = rules.map
        before = change?.before?.evaluated(at: instant, map: map, policy: rules.policy)
        after = change?.after.evaluated(at: instant, map: map, policy: rules.policy)
        mapVersion = change == nil ? nil : map.version
        at = instant
    }

    /// The same for every delivery of this notification.
    var id: String {
        EventMessage.id(notification.payload.notificationUUID, name)
            ?? "\(notification.envelope.hash):\(name.rawValue)"
    }

    var transactionID: String? { notification.transaction?.payload.transactionID }

    private var productID: String? {
        if let transaction = notification.transaction?.payload.productID { return transaction }
        if case .summary(let summary) = notification.payload.body { return summary.productID }
        return notification.renewalInfo?.payload.productID
    }

    var body: [UInt8] {
        var json = JSONWriter(reservingCapacity: 1024)
        json.beginObject()
        json.member("event", name.rawValue)
        json.member("id", id)
        json.member("app", app.rawValue)
        json.member("environment", notification.environment.rawValue)
        json.array("customers", change?.holders.compactMap(\.customer) ?? []) { $0.string($1) }
        json.member("originalTransactionId", change?.after.lineage.originalTransactionID)
        json.member("transactionId", transactionID)
        json.member("productId", productID)
        json.member("notificationUUID", notification.payload.notificationUUID)
        json.member("notificationType", notification.payload.notificationType?.raw)
        json.member("subtype", notification.payload.subtype?.raw)
        json.member("signedDate", notification.signedDate.rfc3339)
        json.member("changed", change?.changed ?? false)
        json.member("evaluatedAt", at.rfc3339)
        json.member("mapVersion", mapVersion)
        Self.write(before, as: "before", to: &json)
        Self.write(after, as: "after", to: &json)
        for detail in name.details { detail.write(self, to: &json) }
        json.endObject()
        return json.bytes
    }

    func message(cause: BrokerMessage) -> EventMessage {
        EventMessage(
            name, id: id, app: app, environment: notification.environment, body: body, cause: cause, at: at)
    }

    private static func write(_ evaluation: LineageEvaluation?, as name: String, to json: inout JSONWriter) {
        guard let evaluation else { return json.member(name, String?.none) }
        json.object(name) {
            $0.member("state", evaluation.state.rawValue)
            $0.member("access", evaluation.access)
            $0.member("productId", evaluation.productID)
            $0.member("validUntil", evaluation.validUntil?.rfc3339)
        }
    }
}
