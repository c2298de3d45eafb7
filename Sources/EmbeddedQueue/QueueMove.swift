package import Broker
package import Consumer
package import Redis

/// Carries an embedded queue over to RabbitMQ: its ledger into the ledger, in its order, and what is to be applied, tried
/// again or lies in quarantine to where that belongs there.
///
/// Each message goes once RabbitMQ has confirmed it, and how far the ledger is stands in the queue's file: a move that is
/// interrupted goes on, and can double the last few messages, which is harmless. Events of the past are not sent again.
package struct QueueMove: Sendable {
    package enum Failure: Error, Sendable, CustomStringConvertible {
        case queue(RedisError)
        case broker(BrokerError)

        package var description: String {
            switch self {
            case .queue(let error): "the embedded queue: \(error)"
            case .broker(let error): "RabbitMQ: \(error)"
            }
        }
    }

    package struct Report: Sendable, Hashable {
        package var ledger = 0
        package var work = 0
        package var quarantine = 0

        package init() {}
    }

    private let queue: EmbeddedQueue
    private let publisher: any MessagePublisher
    private static let together = 128

    package init(from queue: EmbeddedQueue, to publisher: any MessagePublisher) {
        self.queue = queue
        self.publisher = publisher
    }

    package func run(progress: (Report) -> Void) async throws(Failure) -> Report {
        var report = Report()
        while true {
            let items: [EmbeddedQueue.Item]
            do throws(RedisError) {
                items = try await queue.ledger(after: try await queue.movedPlace(), limit: Self.together)
            } catch { throw .queue(error) }
            guard let last = items.last else { break }
            try await publish(items, to: queue.names.ledger)
            do { try await queue.noteMoved(to: last.id) } catch { throw .queue(error) }
            report.ledger += items.count
            progress(report)
        }
        // Whatever its delay was: the line there is another one, and trying once too early costs nothing.
        try await empty(
            queue.names.apply, { (queue) throws(RedisError) in try await queue.waiting(limit: Self.together) }
        ) {
            (queue, id) throws(RedisError) in
            try await queue.acknowledge(id)
        } count: {
            report.work += $0
            progress(report)
        }
        try await empty(
            queue.names.quarantine,
            { (queue) throws(RedisError) in try await queue.quarantined(limit: Self.together) }
        ) { (queue, id) throws(RedisError) in
            try await queue.takeOutOfQuarantine(id)
        } count: {
            report.quarantine += $0
            progress(report)
        }
        return report
    }

    private func empty(
        _ name: String, _ next: (EmbeddedQueue) async throws(RedisError) -> [EmbeddedQueue.Item],
        _ remove: (EmbeddedQueue, String) async throws(RedisError) -> Void, count: (Int) -> Void
    ) async throws(Failure) {
        while true {
            let items: [EmbeddedQueue.Item]
            do throws(RedisError) { items = try await next(queue) } catch { throw .queue(error) }
            guard !items.isEmpty else { return }
            try await publish(items, to: name)
            for item in items {
                do throws(RedisError) { try await remove(queue, item.id) } catch { throw .queue(error) }
            }
            count(items.count)
        }
    }

    private func publish(_ items: [EmbeddedQueue.Item], to name: String) async throws(Failure) {
        let publisher = publisher
        let failure = await withTaskGroup(of: BrokerError?.self) { group in
            for item in items {
                // Started here and now, so that they are sent in their order.
                group.addImmediateTask {
                    do throws(BrokerError) {
                        try await publisher.publish(item.message, to: "", routingKey: name, mandatory: true)
                        return nil
                    } catch { return error }
                }
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
        if let failure { throw .broker(failure) }
    }
}
