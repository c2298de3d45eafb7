package import Broker
import CacheTier
package import Redis
package import Runtime

/// Takes notifications from the queue `apply` and applies them, as many at a time as the broker's prefetch allows.
///
/// It takes in work only while it can finish it. When Redis or the publisher fails, the subscription is drained and a
/// new one begins once both are back: meanwhile the backlog waits in its queue, in its order, and is worked off at once
/// afterwards. Sending all of it through the retry levels instead would cost the broker twice and leave notifications
/// waiting for half an hour after Redis is back. Only what was in hand at the moment of the failure goes that way.
package actor ApplyConsumer: Service {
    package typealias Handler = BrokerSubscription.Handler

    package nonisolated let name = "consumer"
    private let handler: DeliveryHandler
    private let settings: ConsumerSettings
    private let metrics: ConsumerMetrics
    private let log: Log
    private let isReady: @Sendable () async -> Bool
    private let subscribe: @Sendable (@escaping Handler) throws -> any Service

    private var isDraining = false
    private var isTroubled = false
    private var trouble: CheckedContinuation<Void, Never>?
    private var rest: Task<Void, Never>?
    private var work: Task<Void, Never>?

    /// `isReady` says whether Redis and the publisher are there; `subscribe` makes a subscription that is not started.
    package init(
        handler: DeliveryHandler, isReady: @escaping @Sendable () async -> Bool,
        subscribe: @escaping @Sendable (@escaping Handler) throws -> any Service
    ) {
        self.handler = handler
        self.isReady = isReady
        self.subscribe = subscribe
        settings = handler.settings
        metrics = handler.metrics
        log = handler.log.part("consumer")
    }

    /// Consumes with what the parts of a process share: the handler's publisher, and the link that its store uses.
    package init(handler: DeliveryHandler, broker: BrokerSettings, redis: any RedisLink, metrics: Metrics) {
        self.init(handler: handler) { [publisher = handler.publisher] in
            redis.isConnected && publisher.isConnected
        } subscribe: { [log = handler.log] delivery in
            try BrokerSubscription(
                name: "consumer-subscription", queue: broker.names.apply, settings: broker, metrics: metrics, log: log,
                handler: delivery)
        }
    }

    /// Throws what no waiting mends, such as a queue with other arguments; while Redis is away it starts resting.
    package func start() async throws {
        metrics.isResting(true)
        var first: (any Service)?
        if await isReady() {
            var takesWrites = true
            do throws(StoreError) { try await handler.prepare() } catch {
                // Another shape of store does not go away by waiting; whatever else it was, is looked at again.
                guard case .redis = error else { throw error }
                log.warning("the store takes no writes yet", ["error": .init(error)])
                takesWrites = false
            }
            if takesWrites { first = try await newSubscription() }
        }
        work = Task(name: "consumer") { await run(first) }
    }

    /// Takes nothing more, and returns when what is in hand is settled.
    package func drain() async {
        isDraining = true
        trouble.take()?.resume()
        rest?.cancel()
        await work?.value
    }

    private func run(_ first: (any Service)?) async {
        var subscription = first
        while true {
            if let current = subscription.take() {
                await untilTroubledOrDraining()
                log.info("intake ends", ["why": isDraining ? "draining" : "Redis or the broker is not there"])
                await current.drain()
                metrics.isResting(true)
            }
            if isDraining { return }
            isTroubled = false
            await waitABit()
            guard !isDraining, await isReady() else { continue }
            do {
                // Connected is not enough: a Redis that is full would send the whole backlog through the retry levels.
                try await handler.prepare()
                subscription = try await newSubscription()
            } catch {
                log.error("intake cannot begin again", ["error": .init(error)])
            }
        }
    }

    private func newSubscription() async throws -> any Service {
        isTroubled = false
        let subscription = try subscribe { [handler] delivery in
            let result = await handler.handle(delivery)
            if result.isTroubled { await self.troubled() }
            return result.settlement
        }
        try await subscription.start()
        log.info("intake begins")
        metrics.isResting(false)
        return subscription
    }

    private func troubled() {
        isTroubled = true
        trouble.take()?.resume()
    }

    private func untilTroubledOrDraining() async {
        guard !isTroubled, !isDraining else { return }
        await withCheckedContinuation { trouble = $0 }
    }

    /// Drain cuts it short.
    private func waitABit() async {
        guard !isDraining else { return }
        let pause = settings.rest
        let task = Task(name: "consumer-rest") {
            // Cancelled means draining, which the loop looks for next.
            do { try await Task.sleep(for: pause) } catch { return }
        }
        rest = task
        await task.value
    }
}
