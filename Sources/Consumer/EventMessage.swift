import AppStore
import Broker
import Entitlements
import Time

/// One event on its way to the exchange `events`.
struct EventMessage: Sendable {
    let name: EventName
    /// `<app>.<environment>.<event>`
    let routingKey: String
    let message: BrokerMessage

    /// `id` is the same for every try to tell the same: whoever gets it twice can know by it. `cause` is the message that
    /// led to it, if one did.
    init(
        _ name: EventName, id: String?, app: AppID, environment: StoreEnvironment, body: [UInt8],
        cause: BrokerMessage?, at instant: Timestamp
    ) {
        self.name = name
        routingKey = "\(app).\(environment.rawValue).\(name.rawValue)"
        let correlation = cause?.headers[MessageHeader.correlation]
        message = BrokerMessage(
            body: body, headers: correlation.map { [MessageHeader.correlation: $0] } ?? [:], messageID: id,
            type: name.rawValue, contentType: "application/json", timestamp: instant)
    }

    /// The id of what one notification leads to; nil when its UUID is none that can stand in an id.
    static func id(_ notificationUUID: String?, _ name: EventName) -> String? {
        guard let uuid = notificationUUID, 1...64 ~= uuid.utf8.count, uuid.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { return nil }
        return "\(uuid):\(name.rawValue)"
    }
}
