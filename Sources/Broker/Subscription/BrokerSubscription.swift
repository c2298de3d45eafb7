package import Runtime
internal import Synchronization

/// Takes deliveries from one queue, gives each to the handler, and settles it as the handler says.
///
/// Never more than `prefetch` handlers run: the broker holds back what exceeds it. When the connection is lost, handlers run
/// to their end but settle into nothing, since the broker delivers again what was in hand; so handlers must be idempotent.
package actor BrokerSubscription: Service, LinkedActor {
    package typealias Handler = @concurrent @Sendable (BrokerDelivery) async -> Settlement

    private static let consumer = "holdfast"

    nonisolated package let name: String
    nonisolated package let queue: String
    nonisolated let loop: EventLoop
    nonisolated let settings: BrokerSettings
    nonisolated let log: Log
    nonisolated private let handler: Handler
    nonisolated private let metrics: SubscriptionMetrics
    nonisolated private let connected = Atomic(false)
    nonisolated package var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    var link: Link
    private var ledger = SettlementLedger()
    private var isFlushPlanned = false
    private let deliveries: AsyncStream<BrokerDelivery>
    private let delivery: AsyncStream<BrokerDelivery>.Continuation
    private var work: Task<Void, Never>?

    /// Throws when the process is out of threads or file descriptors.
    package init(
        name: String = "broker-subscription", queue: String, settings: BrokerSettings, metrics: Metrics, log: Log,
        handler: @escaping Handler
    ) throws(SystemError) {
        self.name = name
        self.queue = queue
        self.settings = settings
        self.log = log.part(name)
        self.handler = handler
        self.metrics = SubscriptionMetrics(metrics, subscription: name)
        link = Link(settings)
        loop = try EventLoop(name: name)
        // Unbounded, since the prefetch bounds it: the broker sends no more until something is settled.
        (deliveries, delivery) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    deinit {
        delivery.finish()
        loop.stop()
    }

    /// Connects, declares the topology and begins to consume. Throws what no waiting mends.
    package func start() async throws {
        guard work == nil else { return }
        work = Task { [deliveries, settings, weak self] in
            await Self.handle(deliveries, atMost: settings.prefetch) { delivery in await self?.handle(delivery) }
        }
        try await connectFirst()
    }

    /// Stops taking deliveries, waits until those in hand are settled, closes the connection.
    package func drain() async {
        if let handle = link.handle {
            do {
                try handle.cancel(consumer: Self.consumer)
                // Those that were on their way are in hand as well.
                serveLink()
            } catch { lose(error) }
        }
        delivery.finish()
        await work?.value
        flush()
        closeLink()
        connected.store(false, ordering: .releasing)
    }

    /// From any thread.
    nonisolated package var isConnected: Bool { connected.load(ordering: .acquiring) }

    // MARK: Handling

    /// Runs a child task for each delivery, a bounded number at a time, and returns once all are done.
    @concurrent
    private static func handle(
        _ deliveries: AsyncStream<BrokerDelivery>, atMost limit: Int,
        _ body: @escaping @concurrent @Sendable (BrokerDelivery) async -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await delivery in deliveries {
                // After a reconnect, handlers of the old connection may still run.
                if running == limit {
                    await group.next()
                    running -= 1
                }
                group.addTask { await body(delivery) }
                running += 1
            }
        }
    }

    @concurrent
    nonisolated private func handle(_ delivery: BrokerDelivery) async {
        guard await isCurrent(delivery) else { return metrics.forgotten.increment() }
        await settle(delivery, handler(delivery))
    }

    private func isCurrent(_ delivery: BrokerDelivery) -> Bool {
        delivery.connection == link.number && link.handle != nil
    }

    private func settle(_ delivery: BrokerDelivery, _ settlement: Settlement) {
        guard isCurrent(delivery), let handle = link.handle else { return metrics.forgotten.increment() }
        switch settlement {
        case .acknowledge:
            guard ledger.acknowledge(delivery.tag) else { return }
            metrics.acknowledged.increment()
            flushSoon()
        case .requeue:
            guard ledger.requeue(delivery.tag) else { return }
            metrics.requeued.increment()
            do { try handle.requeue(delivery.tag) } catch { lose(error) }
        }
        metrics.inHand.set(Double(ledger.count))
    }

    /// What is settled in the same turn of the loop is acknowledged together.
    private func flushSoon() {
        guard !isFlushPlanned else { return }
        isFlushPlanned = true
        loop.execute { [weak self] in self?.assumeIsolated { $0.flush() } }
    }

    private func flush() {
        isFlushPlanned = false
        guard let handle = link.handle else { return }
        do {
            for acknowledgement in ledger.takeAcknowledgements() {
                try handle.acknowledge(acknowledgement.tag, multiple: acknowledgement.multiple)
            }
        } catch { lose(error) }
        metrics.inHand.set(Double(ledger.count))
    }

    // MARK: The link

    nonisolated var setUp: ConnectionHandle.SetUp {
        let (topology, queue, prefetch) = (Topology(settings), queue, settings.prefetch)
        return { handle throws(BrokerError) in
            try topology.declare(on: handle)
            try handle.consume(queue, prefetch: prefetch, consumer: Self.consumer)
        }
    }

    func linkIsUp() {
        ledger = SettlementLedger()
        metrics.connections.increment()
        metrics.connected.set(1)
        connected.store(true, ordering: .releasing)
    }

    func linkIsDown(_ error: BrokerError) {
        metrics.connected.set(0)
        metrics.inHand.set(0)
        connected.store(false, ordering: .releasing)
    }

    func serve(_ handle: ConnectionHandle) throws(BrokerError) {
        while let event = try handle.nextEvent() {
            switch event {
            case .delivered(var delivery):
                delivery.connection = link.number
                ledger.delivered(delivery.tag)
                metrics.delivered.increment()
                if delivery.isRedelivered { metrics.redelivered.increment() }
                self.delivery.yield(delivery)
            case .consumerCancelled: throw BrokerError(.unreachable, "the broker ended the consumer of \(queue)")
            case .blocked, .unblocked: continue
            case .confirmed, .refused, .returned:
                throw BrokerError(.protocolViolation, "a confirm came to a subscription")
            }
        }
        metrics.inHand.set(Double(ledger.count))
    }
}
