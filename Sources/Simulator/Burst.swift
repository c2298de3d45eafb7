internal import JSON

/// Why no burst took place.
package enum BurstError: Error, Sendable {
    case underWay
    case noURL
    case refused(StoreError)
}

/// What became of a burst's notifications when each had been tried once.
package struct BurstResult: Sendable {
    package struct Notification: Sendable, Hashable {
        package let uuid: String
        package let account: String
        package let originalTransactionID: String
        package let outcome: Outcome
    }

    package enum Outcome: Sendable, Hashable {
        /// Answered 2xx: from here on it is the receiver's.
        case acknowledged
        case failed(SendAttempt.Result)
        /// Never sent: the behaviour lost it.
        case lost
        /// Not tried by the deadline.
        case pending
    }

    package let notifications: [Notification]
    package let took: Duration

    package var acknowledged: [Notification] { notifications.filter { $0.outcome == .acknowledged } }

    func write(to json: inout JSONWriter) {
        let seconds = took / .seconds(1)
        let acknowledged = acknowledged
        json.beginObject()
        json.member("sent", notifications.count)
        json.member("acknowledged", acknowledged.count)
        json.member("lost", notifications.count { $0.outcome == .lost })
        json.member("pending", notifications.count { $0.outcome == .pending })
        var failures: [String: Int] = [:]
        for notification in notifications {
            if case .failed(let result) = notification.outcome { failures[result.rawValue, default: 0] += 1 }
        }
        json.member("failed", failures.values.reduce(0, +))
        json.object("failures") { json in
            for (result, count) in failures.sorted(by: { $0.key < $1.key }) { json.member(result, count) }
        }
        json.key("seconds")
        json.number(seconds)
        json.key("acknowledgedPerSecond")
        json.number(seconds > 0 ? (Double(acknowledged.count) / seconds).rounded() : 0)
        json.array("acknowledgedNotifications", acknowledged) { json, notification in
            json.beginObject()
            json.member("notificationUUID", notification.uuid)
            json.member("account", notification.account)
            json.member("originalTransactionId", notification.originalTransactionID)
            json.endObject()
        }
        json.endObject()
    }
}

/// Keeps count of a burst's first tries. Lives within the simulator's isolation.
final class BurstLedger {
    private var expected: [StoreNotification] = []
    private var outcomes: [String: BurstResult.Outcome] = [:]
    private var waiting: Set<String> = []
    var whenDone: (() -> Void)?

    var isDone: Bool { waiting.isEmpty }

    func expect(_ notifications: [StoreNotification]) {
        expected = notifications
        waiting = Set(notifications.map(\.uuid))
    }

    func finish(_ uuid: String, _ outcome: BurstResult.Outcome) {
        guard waiting.remove(uuid) != nil else { return }
        outcomes[uuid] = outcome
        if waiting.isEmpty { giveUp() }
    }

    /// Whoever waits is answered with what there is.
    func giveUp() {
        whenDone?()
        whenDone = nil
    }

    func result(took: Duration) -> BurstResult {
        BurstResult(
            notifications: expected.map {
                BurstResult.Notification(
                    uuid: $0.uuid, account: $0.account ?? "", originalTransactionID: $0.transaction?.originalID ?? "",
                    outcome: outcomes[$0.uuid] ?? .pending)
            }, took: took)
    }
}
