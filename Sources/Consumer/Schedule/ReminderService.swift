import AppStore
package import Broker
package import CacheTier
import Entitlements
package import Runtime
import Synchronization
import Time

/// Says when an end is near at which nothing renews by itself: one event for each reminder whose time has come and that
/// still holds.
///
/// One consumer at a time does it for an app in one environment. Each reminder is looked at just before it is said, and
/// noted once the broker has it; whoever dies in between leaves it to the next one, who says it under the same id.
package final class ReminderService: Service {
    package let name = "reminders"
    private let books: [ReminderBook]
    private let publisher: any MessagePublisher
    private let names: BrokerNames
    private let lookEvery: Duration
    private let clock: WallClock
    private let metrics: ConsumerMetrics
    private let said: Metrics
    private let log: Log
    private let isReady: @Sendable () -> Bool
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// Looked at in one go; the lease is renewed after each.
    private static let atOnce = 100

    /// `isReady` says whether Redis and the broker are there.
    package init(
        books: [ReminderBook], publisher: any MessagePublisher, names: BrokerNames, lookEvery: Duration,
        clock: WallClock = .system, metrics: Metrics, log: Log, isReady: @escaping @Sendable () -> Bool
    ) {
        self.books = books
        self.publisher = publisher
        self.names = names
        self.lookEvery = lookEvery
        self.clock = clock
        self.metrics = ConsumerMetrics(metrics)
        said = metrics
        self.log = log.part(name)
        self.isReady = isReady
    }

    package func start() async {
        let task = Task(name: name) {
            while true {
                if isReady() {
                    for book in books where !Task.isCancelled { await look(into: book) }
                }
                do { try await Task.sleep(for: lookEvery) } catch { return }
            }
        }
        work.withLock { $0 = task }
    }

    package func drain() async {
        let task = work.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }

    private func look(into book: ReminderBook) async {
        let log = log.with(["app": .init(book.app), "environment": .init(book.environment.rawValue)])
        do throws(StoreError) { try await remind(book, log) } catch {
            log.warning("reminders were not looked at", ["error": .init(error)])
        }
    }

    /// Says all that is due; returns how many were said.
    @discardableResult
    func remind(_ book: ReminderBook, _ log: Log) async throws(StoreError) -> Int {
        var count = 0
        while !Task.isCancelled {
            // Looking costs less than a turn.
            let entries = try await book.due(limit: Self.atOnce)
            guard !entries.isEmpty, try await book.take() else { break }
            // Whoever had the turn before may have said them meanwhile.
            let due = try await book.due(limit: Self.atOnce)
            var isStuck = false
            var isAnySettled = false
            for entry in due {
                let finding = try await book.look(at: entry)
                if let event = ReminderEvent(finding, entry, at: clock.now()) {
                    guard await publish(event, log) else {
                        isStuck = true
                        break
                    }
                    count += 1
                    said.counter(
                        "holdfast_reminders_total", "Reminders of an end that were published.",
                        labels: [
                            "app": book.app.rawValue, "environment": book.environment.rawValue,
                            "lead": event.reminder.lead.rawValue,
                        ]
                    ).increment()
                }
                if try await book.settle(entry, finding) { isAnySettled = true }
            }
            try await book.release()
            // What the broker does not take now is due still, and looked for again after a while.
            // Nor does a round lead anywhere that moved nothing on.
            if isStuck || !isAnySettled { break }
        }
        return count
    }

    private func publish(_ event: ReminderEvent, _ log: Log) async -> Bool {
        let message = event.message
        do throws(BrokerError) {
            try await publisher.publish(
                message.message, to: names.events, routingKey: message.routingKey, mandatory: false)
        } catch {
            log.warning("a reminder was not taken", ["error": .init(error)])
            metrics.event(.reminderDue, "failed")
            return false
        }
        metrics.event(.reminderDue, "published")
        log.info(
            "a reminder was published",
            [
                "lineage": .init(event.lineage.originalTransactionID), "lead": .init(event.reminder.lead.rawValue),
                "endsAt": .init(event.reminder.end.rfc3339), "event-id": .init(event.id),
            ])
        return true
    }
}
