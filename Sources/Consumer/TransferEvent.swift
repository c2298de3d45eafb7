import AppStore
import Broker
import CacheTier
import Entitlements
import JSON
import Time

/// Tells that a purchase went from one customer to another: `transfer.lost` for each who has it no longer, and
/// `transfer.gained` for each who has it now.
struct TransferEvent: Sendable, Hashable {
    enum Reason: String, Sendable {
        /// The customer's backend posted it, and the app's policy or an operator let it move.
        case claim
        /// Apple signed another customer's token.
        case token
    }

    let name: EventName
    let lineage: LineageID
    /// Whom the event is about.
    let customer: String
    let from: [String]
    let to: [String]
    let why: Reason
    let at: Timestamp
    /// What made it: the same transfer has the same id however often it is told.
    let cause: String

    /// Both sides of a move, the losing ones first; none when nobody lost it.
    static func all(
        of lineage: LineageID, from: [String], to: [String], why: Reason, at instant: Timestamp, cause: String
    ) -> [TransferEvent] {
        guard !from.isEmpty else { return [] }
        func event(_ name: EventName, _ customer: String) -> TransferEvent {
            TransferEvent(
                name: name, lineage: lineage, customer: customer, from: from, to: to, why: why, at: instant,
                cause: cause)
        }
        return from.map { event(.transferLost, $0) } + to.map { event(.transferGained, $0) }
    }

    /// Those of a change that what Apple signed made by itself.
    static func all(of change: AppliedChange, by observation: Observation, at instant: Timestamp) -> [TransferEvent] {
        all(
            of: observation.lineage, from: change.lost, to: change.gained, why: .token, at: instant,
            cause: observation.notificationUUID ?? observation.transaction?.payloadHash
                ?? "\(observation.signedDate.milliseconds)")
    }

    /// A hash, because a customer's id may be longer than a message id.
    var id: String {
        let named = [
            lineage.app.rawValue, lineage.environment.rawValue, lineage.originalTransactionID, cause, customer,
        ]
        let hash = SHA256.hexadecimal(Array(named.joined(separator: "\n").utf8)).prefix(32)
        return "transfer-\(hash):\(name.rawValue)"
    }

    func message(cause message: BrokerMessage) -> EventMessage {
        var json = JSONWriter()
        json.beginObject()
        json.member("event", name.rawValue)
        json.member("id", id)
        json.member("app", lineage.app.rawValue)
        json.member("environment", lineage.environment.rawValue)
        json.member("customer", customer)
        json.member("originalTransactionId", lineage.originalTransactionID)
        json.array("from", from) { json, customer in json.string(customer) }
        json.array("to", to) { json, customer in json.string(customer) }
        json.member("why", why.rawValue)
        json.member("transferredAt", at.rfc3339)
        json.endObject()
        return EventMessage(
            name, id: id, app: lineage.app, environment: lineage.environment, body: json.bytes, cause: message, at: at)
    }
}
