import AppStore
import Broker
import CacheTier
import Entitlements
import JSON
import Time

/// Tells others that what a customer may use may be another than before. It says what to read again, not what to believe.
struct ChangeEvent {
    let change: AppliedChange
    let observation: Observation
    /// Of what brought it: the same for every try to tell it.
    let id: String?
    let at: Timestamp

    /// Without an `id`, the notification's UUID is it.
    init(change: AppliedChange, observation: Observation, id: String? = nil, at instant: Timestamp) {
        self.change = change
        self.observation = observation
        self.id = id ?? observation.notificationUUID
        at = instant
    }

    func message(cause: BrokerMessage) -> EventMessage {
        let lineage = observation.lineage
        var json = JSONWriter()
        json.beginObject()
        json.member("app", lineage.app.rawValue)
        json.member("environment", lineage.environment.rawValue)
        json.member("customer", change.holder.customer)
        if let previous = change.previousHolder { json.member("previousCustomer", previous.customer) }
        // Under `share` several have it.
        json.array("customers", change.holders.compactMap(\.customer) + change.lost) { json, customer in
            json.string(customer)
        }
        json.member("originalTransactionId", lineage.originalTransactionID)
        json.member("revision", change.revision)
        json.member("changedAt", at.rfc3339)
        json.member("notificationType", observation.notificationType)
        json.member("subtype", observation.subtype)
        json.endObject()
        return EventMessage(
            .entitlementChanged, id: EventMessage.id(id, .entitlementChanged),
            app: lineage.app, environment: lineage.environment, body: json.bytes, cause: cause, at: at)
    }
}
