import AppStore
package import Broker
package import CacheTier
import Entitlements
import JSON
import Time

/// Tells others on the exchange `events` that another product map has changed what a customer has: an
/// `entitlement.changed` like any other, with the cause `map`.
package struct ProductMapChangeEvent: Sendable {
    private let change: ProductMapChange

    package init(_ change: ProductMapChange) { self.change = change }

    /// `<app>.<environment>.entitlement.changed`
    package var routingKey: String {
        "\(change.app).\(change.environment.rawValue).\(EventName.entitlementChanged.rawValue)"
    }

    package var message: BrokerMessage {
        var json = JSONWriter()
        json.beginObject()
        json.member("app", change.app.rawValue)
        json.member("environment", change.environment.rawValue)
        json.member("customer", change.customer)
        json.member("cause", TransitionCause.map.rawValue)
        json.member("productMapVersion", "\(change.version)")
        json.member("changedAt", change.at.rfc3339)
        json.endObject()
        return BrokerMessage(
            body: json.bytes, messageID: id, type: EventName.entitlementChanged.rawValue,
            contentType: "application/json",
            timestamp: change.at)
    }

    /// The same for the same customer and map, however often it is sent; hashed, as AMQP has little room for ids.
    private var id: String {
        let map = "\(change.version) \(change.publishedAt.milliseconds)"
        let text = "\(change.app) \(change.environment.rawValue) \(map) \(change.customer)"
        return "map-\(SHA256.hexadecimal(Array(text.utf8)).prefix(40))"
    }
}
