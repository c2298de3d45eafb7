import Broker
import JSON
import Runtime
import Synchronization

/// Listens to all events, as another program would.
final class EventWatch: Sendable {
    private let broker: BrokerSettings
    private let queue: String
    private let ledger = Mutex(EventLedger())
    private let subscription = Mutex<BrokerSubscription?>(nil)

    init(broker: BrokerSettings) {
        self.broker = broker
        queue = "\(broker.names.events).drill-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    }

    var seen: EventLedger { ledger.withLock { $0 } }

    func start() async throws {
        try await BrokerInspector(settings: broker).makeQueue(ofEvents: queue)
        let subscription = try BrokerSubscription(
            name: "drill-events", queue: queue, settings: broker, metrics: Metrics(), log: .discarding
        ) { [weak self] delivery in
            self?.take(delivery.message)
            return .acknowledge
        }
        self.subscription.withLock { $0 = subscription }
        try await subscription.start()
    }

    /// Takes what has come until now, and leaves nothing in RabbitMQ.
    func stop() async {
        guard let subscription = subscription.withLock({ $0.take() }) else { return }
        await subscription.drain()
        // A broker that is gone has no queue either.
        do throws(BrokerError) { try await BrokerInspector(settings: broker).deleteQueue(queue) } catch {
            Console.error("the drill's queue of events is left: \(error)")
        }
    }

    private func take(_ message: BrokerMessage) {
        // An event that cannot be read says of no change.
        let body = try? JSONValue.parse(message.body)
        ledger.withLock {
            $0.add(message.messageID, kind: message.type ?? "", changed: body?["changed"]?.bool)
        }
    }
}
