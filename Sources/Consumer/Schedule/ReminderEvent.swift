import AppStore
import CacheTier
import Entitlements
import JSON
import Time

/// Tells one customer's app that an end is near at which nothing renews by itself.
struct ReminderEvent {
    /// A field of its JSON beyond what all events carry, and what it says.
    static let fields: KeyValuePairs<String, String> = [
        "lead": "which reminder it is: `7d`, `3d` or `24h` before the end",
        "endsAt": "when access by this purchase ends",
        "entitlements": "what this purchase gives by the product map",
        "kept": "those of them that other purchases of the customer give beyond that end",
        "trial": "whether the period is free",
        "kind": "`autoRenewable` for a subscription that was turned off, `nonRenewing` and others for one with an end",
        "ownership": "`PURCHASED`, `FAMILY_SHARED` or `ASSIGNED`",
    ]

    let reminder: Reminder
    let lineage: LineageID
    let customer: String
    let evaluation: LineageEvaluation
    let kept: Set<String>
    let mapVersion: String?
    let at: Timestamp

    /// Nil when there is nothing to say, or nobody to say it to.
    init?(_ finding: ReminderBook.Finding, _ entry: ReminderBook.Entry, at instant: Timestamp) {
        guard let reminder = finding.reminder, let evaluation = finding.evaluation,
            let customer = entry.holder.customer
        else { return nil }
        self.reminder = reminder
        self.evaluation = evaluation
        self.customer = customer
        lineage = entry.lineage
        kept = finding.kept
        mapVersion = finding.mapVersion
        at = instant
    }

    /// The same whenever this reminder of this end is said to this customer. Hashed, because a customer's id may be longer
    /// than a message id.
    var id: String {
        let named = [
            lineage.app.rawValue, lineage.environment.rawValue, lineage.originalTransactionID, customer,
            "\(reminder.end.milliseconds)", reminder.lead.rawValue,
        ]
        let hash = SHA256.hexadecimal(Array(named.joined(separator: "\n").utf8)).prefix(32)
        return "\(hash):\(EventName.reminderDue.rawValue)"
    }

    var message: EventMessage {
        var json = JSONWriter()
        json.beginObject()
        json.member("event", EventName.reminderDue.rawValue)
        json.member("id", id)
        json.member("app", lineage.app.rawValue)
        json.member("environment", lineage.environment.rawValue)
        json.member("customer", customer)
        json.array("customers", [customer]) { $0.string($1) }
        json.member("originalTransactionId", lineage.originalTransactionID)
        json.member("productId", evaluation.productID)
        json.member("lead", reminder.lead.rawValue)
        json.member("endsAt", reminder.end.rfc3339)
        json.array("entitlements", evaluation.entitlements.sorted()) { $0.string($1) }
        json.array("kept", kept.sorted()) { $0.string($1) }
        json.member("trial", evaluation.isTrial)
        json.member("kind", evaluation.kind.rawValue)
        json.member("ownership", evaluation.ownership)
        json.member("dueAt", reminder.at.rfc3339)
        json.member("evaluatedAt", at.rfc3339)
        json.member("mapVersion", mapVersion)
        json.endObject()
        return EventMessage(
            .reminderDue, id: id, app: lineage.app, environment: lineage.environment, body: json.bytes, cause: nil,
            at: at)
    }
}
