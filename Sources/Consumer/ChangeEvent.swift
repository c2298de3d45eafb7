import Broker
import CacheTier
import Entitlements
import JSON
import Time

/// Tells others on the exchange `events` that something changed. It says what to read again, not what to believe.
struct ChangeEvent {
    let change: AppliedChange
    let observation: Observation
    let cause: BrokerMessage
    let at: Timestamp

    init(change: AppliedChange, observation: Observation, cause: BrokerMessage, at instant: Timestamp) {
        self.change = change
        self.observation = observation
        self.cause = cause
        at = instant
    }

    /// `<app>.<environment>.entitlement.changed`
    var routingKey: String {
        "\(observation.lineage.app).\(observation.lineage.environment.rawValue).entitlement.changed"
    }

    var message: BrokerMessage {
        var json = JSONWriter()
        json.beginObject()
        json.member("app", observation.lineage.app.rawValue)
        json.member("environment", observation.lineage.environment.rawValue)
        json.member("customer", change.holder.customer)
        if let previous = change.previousHolder { json.member("previousCustomer", previous.customer) }
        json.member("originalTransactionId", observation.lineage.originalTransactionID)
        json.member("revision", change.revision)
        json.member("changedAt", at.rfc3339)
        json.member("notificationType", observation.notificationType)
        json.member("subtype", observation.subtype)
        json.endObject()
        let correlation = cause.headers[MessageHeader.correlation]
        return BrokerMessage(
            body: json.bytes, headers: correlation.map { [MessageHeader.correlation: $0] } ?? [:],
            messageID: observation.notificationUUID, type: "entitlement.changed", contentType: "application/json",
            timestamp: at)
    }
}

extension Holder {
    /// nil while nobody has claimed the lineage.
    fileprivate var customer: String? {
        switch self {
        case .customer(let id): id
        case .unclaimed: nil
        }
    }
}
