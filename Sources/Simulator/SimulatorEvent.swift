internal import JSON
package import Time

/// One line of what happened, as `GET /control/events` tells it.
package struct SimulatorEvent: Sendable {
    package let sequence: UInt64
    package let time: Timestamp
    package let account: String?
    /// `SUBSCRIBED/INITIAL_BUY`, `account created`, `delivered`, `not delivered`.
    package let name: String
    package let notificationUUID: String?
    package let productID: String?
    package let originalTransactionID: String?
    package let transactionID: String?
    package let expiresAt: Timestamp?
    /// Of a delivery: Apple's word for how it went, and which try it was.
    package let result: String?
    package let attempt: Int?
    /// Of an event that is notified of: what becomes of the notification.
    package let fate: Outbox.Fate?
    /// What the account may use once this has happened.
    package let truth: [StoreTruth]

    func write(to json: inout JSONWriter, withTruth: Bool = false) {
        json.beginObject()
        json.member("sequence", sequence)
        json.member("time", time.rfc3339)
        json.member("event", name)
        if let account { json.member("account", account) }
        if let notificationUUID { json.member("notificationUUID", notificationUUID) }
        if let productID { json.member("productId", productID) }
        if let originalTransactionID { json.member("originalTransactionId", originalTransactionID) }
        if let transactionID { json.member("transactionId", transactionID) }
        if let expiresAt { json.member("expiresAt", expiresAt.rfc3339) }
        if let result { json.member("result", result) }
        if let attempt { json.member("attempt", attempt) }
        if let fate { json.member("fate", fate.rawValue) }
        if withTruth, result == nil { json.array("truth", truth) { $1.write(to: &$0) } }
        json.endObject()
    }
}

/// The last events, in order; older ones are forgotten.
struct EventLog: Sendable {
    private var events: [SimulatorEvent] = []
    private var firstIndex = 0
    private(set) var lastSequence: UInt64 = 0
    private let capacity: Int

    init(capacity: Int) { self.capacity = max(1, capacity) }

    mutating func add(
        _ event: StoreEvent, fate: Outbox.Fate? = nil, truth: [StoreTruth] = []
    ) -> SimulatorEvent {
        let transaction = event.notification?.transaction
        return append { sequence in
            SimulatorEvent(
                sequence: sequence, time: event.time, account: event.account, name: event.name,
                notificationUUID: event.notification?.uuid, productID: transaction?.product.id,
                originalTransactionID: transaction?.originalID, transactionID: transaction?.id,
                expiresAt: transaction?.expiresDate, result: nil, attempt: nil, fate: fate, truth: truth)
        }
    }

    mutating func add(
        _ sending: Outbox.Sending, _ result: SendAttempt.Result, attempt: Int, at time: Timestamp
    ) -> SimulatorEvent {
        let notification = sending.notification
        return append { sequence in
            SimulatorEvent(
                sequence: sequence, time: time, account: notification.account,
                name: (result == .success ? "delivered" : "not delivered")
                    + (sending.isDuplicate ? " (duplicate)" : ""),
                notificationUUID: notification.uuid, productID: notification.transaction?.product.id,
                originalTransactionID: notification.transaction?.originalID,
                transactionID: notification.transaction?.id,
                expiresAt: nil, result: result.rawValue, attempt: attempt, fate: nil, truth: [])
        }
    }

    /// At most `limit` events after `sequence`.
    func events(after sequence: UInt64, limit: Int) -> [SimulatorEvent] {
        let oldest = lastSequence - UInt64(events.count - firstIndex)
        let skipped = sequence <= oldest ? 0 : Int(min(sequence - oldest, UInt64(events.count - firstIndex)))
        return Array(events[(firstIndex + skipped)...].prefix(limit))
    }

    private mutating func append(_ make: (UInt64) -> SimulatorEvent) -> SimulatorEvent {
        lastSequence += 1
        let event = make(lastSequence)
        events.append(event)
        if events.count - firstIndex > capacity { firstIndex += 1 }
        // Moved rarely, so that forgetting costs nothing each time.
        if firstIndex > capacity {
            events.removeFirst(firstIndex)
            firstIndex = 0
        }
        return event
    }
}
