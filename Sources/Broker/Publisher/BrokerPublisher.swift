package import Runtime

/// Publishes and waits for the broker's confirm. Many may wait at a time: their messages share the connection, and often
/// one confirm.
///
/// Up to `publishWindow` messages are outstanding and up to `maximumWaiting` wait their turn. Within one publisher, messages
/// are sent in the order of the calls that reach it. It runs on a thread of its own.
package actor BrokerPublisher: Service, LinkedActor {
    nonisolated package let name: String
    nonisolated let loop: EventLoop
    nonisolated let settings: BrokerSettings
    nonisolated let log: Log
    nonisolated private let status: PublisherStatus
    nonisolated private let metrics: PublisherMetrics
    nonisolated package var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    var link: Link
    private var ledger = ConfirmLedger<PublishWaiter>()
    private var queue: SendQueue
    private var deadlineTimer: EventLoop.TimerID?
    private var isWatchingForWrite = false
    private var isDraining = false
    private var drained: CheckedContinuation<Void, Never>?

    /// Throws when the process is out of threads or file descriptors.
    package init(
        name: String = "broker-publisher", settings: BrokerSettings, metrics: Metrics, log: Log
    ) throws(SystemError) {
        self.name = name
        self.settings = settings
        self.log = log.part(name)
        self.metrics = PublisherMetrics(metrics, publisher: name)
        status = PublisherStatus(healthLimit: settings.healthLimit)
        link = Link(settings)
        queue = SendQueue(maximumCount: settings.maximumWaiting, maximumBytes: settings.maximumWaitingBytes)
        loop = try EventLoop(name: name)
    }

    deinit { loop.stop() }

    /// Connects and declares the topology. Throws what no waiting mends (a wrong password, a queue with other arguments);
    /// a broker that is away is tried again and again.
    package func start() async throws { try await connectFirst() }

    /// Takes nothing more, waits for what was sent (up to the confirm timeout), closes the connection.
    package func drain() async {
        isDraining = true
        if !queue.isEmpty || ledger.hasWaiters { await withCheckedContinuation { drained = $0 } }
        closeLink()
        status.isConnected = false
    }

    /// Whether publishing is likely to succeed at once: connected, no alarm, and confirms coming. From any thread.
    nonisolated package var isHealthy: Bool { status.isHealthy }

    /// Whether there is a connection that takes messages; confirms may be slow to come. From any thread.
    nonisolated package var isConnected: Bool { status.isConnected && !status.isBlocked }

    /// Returns once the broker has confirmed the message, that is once all queues it went to have stored it.
    ///
    /// Throws within the confirm timeout, or the write timeout later at most. After `timedOut` and `unreachable` the message
    /// may have arrived nevertheless: publishing it again can make a duplicate, never a gap. Cancelling the calling task
    /// does not cut the wait short. With `mandatory`, a message that no queue takes is an error.
    nonisolated package func publish(
        _ message: BrokerMessage, to exchange: String, routingKey: String = "", mandatory: Bool = true
    ) async throws(BrokerError) {
        let errors = await publish([message], to: exchange, routingKey: routingKey, mandatory: mandatory)
        if let error = errors[0] { throw error }
    }

    /// Publishes several messages in their order, one behind the other without waiting in between, and returns what became
    /// of each once all are settled: nil for confirmed. One may fail and a later one succeed.
    nonisolated package func publish(
        _ messages: [BrokerMessage], to exchange: String, routingKey: String = "", mandatory: Bool = true
    ) async -> [BrokerError?] {
        guard !messages.isEmpty else { return [] }
        // Asked before the actor, so that a publisher held up in a write turns nobody into its prisoner.
        if let error = unreachable {
            metrics.unreachable.increment(by: UInt64(messages.count))
            return messages.map { _ in error }
        }
        return await enqueue(messages, exchange, routingKey, mandatory)
    }

    nonisolated private var unreachable: BrokerError? {
        if !status.isConnected { return BrokerError(.unreachable, "there is no connection to the broker") }
        if status.isBlocked { return BrokerError(.blocked, "the broker takes nothing while its alarm is on") }
        return nil
    }

    private func enqueue(
        _ messages: [BrokerMessage], _ exchange: String, _ routingKey: String, _ mandatory: Bool
    ) async -> [BrokerError?] {
        let refusal = isDraining ? BrokerError(.closed, "the publisher is draining") : unreachable
        if let refusal { return messages.map { _ in refusal } }
        return await withCheckedContinuation { caller in
            let batch = PublishBatch(count: messages.count, caller: caller)
            let deadline = ContinuousClock.now + settings.confirmTimeout
            for (index, message) in messages.enumerated() {
                let waiter = PublishWaiter(batch: batch, index: index)
                let isQueued = queue.append(
                    .init(
                        message: message, exchange: exchange, routingKey: routingKey, isMandatory: mandatory,
                        deadline: deadline, waiter: waiter))
                if isQueued { continue }
                metrics.overloaded.increment()
                waiter.resume(returning: BrokerError(.overloaded, "too many messages are waiting to be sent"))
            }
            serveLink()
            setDeadlineTimer()
        }
    }

    // MARK: The link

    nonisolated var setUp: ConnectionHandle.SetUp {
        let topology = Topology(settings)
        return { handle throws(BrokerError) in
            try topology.declare(on: handle)
            try handle.selectConfirms()
        }
    }

    func linkIsUp() {
        isWatchingForWrite = false
        status.isBlocked = false
        status.isConnected = true
        metrics.connections.increment()
        updateGauges()
    }

    func linkIsDown(_ error: BrokerError) {
        status.isConnected = false
        status.isBlocked = false
        // Whether they arrived cannot be known, nor whose doing it was; publishing them again is the caller's choice.
        let loss = BrokerError(.unreachable, "the connection was lost: \(error.detail)")
        let waiters = ledger.reset() + queue.removeAll()
        metrics.lost.increment(by: UInt64(waiters.count))
        for waiter in waiters { waiter.resume(returning: loss) }
        updateGauges()
        finishDraining()
    }

    func serve(_ handle: ConnectionHandle) throws(BrokerError) {
        // Sending may make room for reading and the other way round; either ends when the kernel has no more.
        repeat {
            try send(handle)
            while let event = try handle.nextEvent() { try take(event) }
        } while canSend && !isWatchingForWrite
        if !status.isBlocked, let oldest = ledger.oldestSentAt, .now - oldest > settings.stallLimit {
            throw BrokerError(.timedOut, "no confirm for \(settings.stallLimit)")
        }
        updateGauges()
        finishDraining()
    }

    private var canSend: Bool {
        !queue.isEmpty && ledger.outstandingCount < settings.publishWindow && !status.isBlocked
    }

    private func send(_ handle: ConnectionHandle) throws(BrokerError) {
        if isWatchingForWrite {
            guard handle.isWritable else { return }
            try watchForWrite(false, handle)
        }
        while canSend {
            guard handle.isWritable else { return try watchForWrite(true, handle) }
            guard let item = queue.takeFirst() else { return }
            let tag = ledger.nextTag
            // Entered first, so that a failure or a stuck write finds it.
            ledger.add(item.waiter, sentAt: .now, deadline: item.deadline)
            status.setOldest(ledger.oldestSentAt)
            metrics.published.increment()
            try handle.publish(
                item.message, to: item.exchange, routingKey: item.routingKey, mandatory: item.isMandatory,
                correlation: tag)
        }
    }

    private func watchForWrite(_ on: Bool, _ handle: ConnectionHandle) throws(BrokerError) {
        do {
            try loop.rewatch(handle.fd, for: on ? [.read, .write] : .read)
            isWatchingForWrite = on
        } catch {
            throw BrokerError(.unreachable, "\(error)")
        }
    }

    private func take(_ event: ConnectionEvent) throws(BrokerError) {
        switch event {
        case .confirmed(let tag, let multiple): resume(try ledger.settle(tag, multiple: multiple, confirmed: true))
        case .refused(let tag, let multiple): resume(try ledger.settle(tag, multiple: multiple, confirmed: false))
        case .returned(let correlation, let reason):
            guard let tag = UInt64(correlation) else {
                throw BrokerError(.protocolViolation, "a message of somebody else came back")
            }
            ledger.returned(tag, reason: reason)
        case .blocked(let reason):
            status.isBlocked = true
            log.warning("the broker blocks publishers", ["reason": .init(reason)])
            // What was not sent yet need not wait for its deadline.
            metrics.unreachable.increment(by: UInt64(queue.count))
            for waiter in queue.removeAll() { waiter.resume(returning: BrokerError(.blocked, reason)) }
        case .unblocked:
            status.isBlocked = false
            log.info("the broker takes messages again")
        case .delivered, .consumerCancelled:
            throw BrokerError(.protocolViolation, "a delivery came to a publisher")
        }
    }

    private func resume(_ settled: [ConfirmLedger<PublishWaiter>.Settled]) {
        let now = ContinuousClock.now
        for entry in settled {
            switch entry.outcome {
            case .confirmed:
                metrics.confirmed.increment()
                metrics.confirmSeconds.record(now - entry.sentAt)
                entry.waiter.resume(returning: nil)
            case .refused:
                metrics.refused.increment()
                entry.waiter.resume(returning: BrokerError(.nacked, "the broker refused the message: a queue is full"))
            case .unroutable(let reason):
                metrics.unroutable.increment()
                entry.waiter.resume(returning: BrokerError(.unroutable, reason))
            }
        }
    }

    // MARK: Deadlines

    /// One timer serves all: deadlines come in the order of the calls.
    private func setDeadlineTimer() {
        guard deadlineTimer == nil, let next = ledger.nextDeadline ?? queue.nextDeadline else { return }
        deadlineTimer = loop.schedule(after: next - .now) { [weak self] in
            self?.assumeIsolated { actor in
                actor.deadlineTimer = nil
                actor.expire()
                actor.setDeadlineTimer()
            }
        }
    }

    private func expire() {
        let now = ContinuousClock.now
        let waiters = ledger.expire(by: now) + queue.expire(by: now)
        metrics.timedOut.increment(by: UInt64(waiters.count))
        for waiter in waiters {
            waiter.resume(returning: BrokerError(.timedOut, "no confirm within \(settings.confirmTimeout)"))
        }
        updateGauges()
        finishDraining()
    }

    private func finishDraining() {
        guard isDraining, queue.isEmpty, !ledger.hasWaiters else { return }
        drained.take()?.resume()
    }

    private func updateGauges() {
        status.setOldest(ledger.oldestSentAt)
        metrics.inFlight.set(Double(ledger.outstandingCount))
        metrics.waiting.set(Double(queue.count))
        metrics.blocked.set(status.isBlocked ? 1 : 0)
        metrics.connected.set(status.isConnected ? 1 : 0)
    }
}
