/// The names of the headers that a notification carries through the broker.
package enum MessageHeader {
    package static let app = "app"
    package static let environment = "environment"
    /// What kind of message it is; none is a notification.
    package static let kind = "kind"
    /// Follows a notification from intake to Redis in the logs.
    package static let correlation = "correlation"
    /// When the gateway took it in, RFC 3339.
    package static let receivedAt = "received-at"
    /// The environment at whose address the gateway took a notification in, when it is not its own; else none.
    package static let address = "address"
    /// The recovery or backfill that found a notification in Apple's notification history; none when Apple sent it.
    package static let history = "history"
    /// How often applying it has failed.
    package static let attempt = "attempt"
    /// How often its events could not be published.
    package static let eventAttempt = "event-attempt"
    /// Why it is in quarantine: code, sentence, and since when.
    package static let reason = "reason"
    package static let reasonDetail = "reason-detail"
    package static let quarantinedAt = "quarantined-at"
    /// When it was put back to work from quarantine: it counts as received then.
    package static let returnedAt = "returned-at"
}
