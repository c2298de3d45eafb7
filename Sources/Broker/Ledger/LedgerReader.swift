package import Runtime

/// Reads the ledger in its order, up to an end that is known; a stream has none of its own.
///
/// An actor on a loop of its own, so its calls may block that thread. A connection that breaks is made again where reading
/// stopped: no message comes twice, and none is left out without `lost` saying so.
package actor LedgerReader {
    nonisolated private let loop: EventLoop
    nonisolated package var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let settings: BrokerSettings
    private let batch: Int
    private let patience: Duration
    private var start = LedgerStart.first
    private var connection: ConnectionHandle?
    /// Of the last message that was handed out.
    private var reached: Int64?
    /// Of the messages handed out and not yet acknowledged, which for a stream means "send more".
    private var unacknowledged: UInt64?

    /// Offsets that retention removed before they could be read.
    package private(set) var lost: [ClosedRange<Int64>] = []

    /// At most `batch` messages are handed out at a time, and as many more are on their way. `patience` is how long the
    /// broker may be away, or silent, before reading gives up.
    package init(
        settings: BrokerSettings, batch: Int = 256, patience: Duration = .seconds(30)
    ) throws(SystemError) {
        self.settings = settings
        self.batch = max(1, batch)
        self.patience = patience
        loop = try EventLoop(name: "ledger-reader")
    }

    deinit { loop.stop() }

    /// Reads from here next.
    package func seek(_ start: LedgerStart) {
        close()
        self.start = start
        reached = nil
    }

    /// Lets go of the connection; the next read makes another.
    package func close() {
        connection?.close()
        connection = nil
        unacknowledged = nil
    }

    /// The next messages in order, none beyond `end`; none at all once `end` has been reached.
    package func next(through end: Int64) async throws(BrokerError) -> [BrokerDelivery] {
        guard reached ?? -1 < end else { return [] }
        let deadline = ContinuousClock.now + patience
        var backoff = Backoff(minimum: settings.reconnectMinimum, maximum: settings.reconnectMaximum)
        while true {
            do throws(BrokerError) {
                let deliveries = try read(through: end)
                if !deliveries.isEmpty { return deliveries }
                guard .now < deadline else {
                    throw BrokerError(
                        .timedOut,
                        "\(settings.names.ledger) gave nothing after offset \(reached ?? -1), though it goes to \(end)")
                }
            } catch {
                connection = nil
                unacknowledged = nil
                guard error.isRetryable, .now < deadline else { throw error }
                // Cancelled, nobody waits for what comes any more.
                do { try await Task.sleep(for: backoff.delay()) } catch let cancelled {
                    throw BrokerError(.closed, "\(cancelled)")
                }
            }
        }
    }

    // MARK: Reading

    private func read(through end: Int64) throws(BrokerError) -> [BrokerDelivery] {
        let connection = try connected()
        if let tag = unacknowledged.take() { try connection.acknowledge(tag, multiple: true) }
        var deliveries: [BrokerDelivery] = []
        var waiting = Duration.seconds(1)
        while deliveries.count < batch, let delivery = try Self.delivery(on: connection, waiting: waiting) {
            waiting = .zero
            unacknowledged = delivery.tag
            guard let offset = delivery.streamOffset else {
                throw BrokerError(.protocolViolation, "a message of \(settings.names.ledger) came without its offset")
            }
            if let reached, offset <= reached { continue }
            if offset > end {
                // Others have written since the end was set. What is on its way is read again if the end is moved.
                reached = end
                close()
                return deliveries
            }
            if let reached, offset > reached &+ 1 { try look(into: (reached &+ 1)...(offset &- 1)) }
            reached = offset
            deliveries.append(delivery)
        }
        return deliveries
    }

    private func connected() throws(BrokerError) -> ConnectionHandle {
        if let connection { return connection }
        let connection = try ConnectionHandle(settings, name: "ledger-reader")
        let start = reached.map { LedgerStart.offset($0 &+ 1) } ?? start
        try Self.follow(settings.names.ledger, from: start, prefetch: 2 * batch, on: connection)
        self.connection = connection
        return connection
    }

    /// RabbitMQ's own notes in a stream take offsets as well, so not every gap is a loss: one is when the ledger begins
    /// behind it now.
    private func look(into gap: ClosedRange<Int64>) throws(BrokerError) {
        guard let oldest = try oldest(), oldest.offset > gap.lowerBound else { return }
        lost.append(gap)
    }

    // MARK: Bounds

    /// What the ledger holds at this moment, as the node has it that we are connected to; nil when it is empty.
    ///
    /// RabbitMQ answers on a channel in the order of what it is asked, and after an acknowledgement it sends all that there
    /// is, up to the prefetch. So once a request behind an acknowledgement has been answered, with less than the prefetch
    /// in between, the last message that came was the newest when it was asked. (What a stream's queue says of its own
    /// length is seconds old.)
    package func bounds() throws(BrokerError) -> LedgerBounds? {
        guard let newest = try newest(), let oldest = try oldest() else { return nil }
        return LedgerBounds(oldest: oldest, newest: newest)
    }

    private func oldest() throws(BrokerError) -> LedgerBounds.Place? {
        let connection = try ConnectionHandle(settings, name: "ledger-oldest")
        defer { connection.close() }
        try Self.follow(settings.names.ledger, from: .first, prefetch: 1, on: connection)
        return try first(on: connection).flatMap(LedgerBounds.Place.init)
    }

    private func newest() throws(BrokerError) -> LedgerBounds.Place? {
        let connection = try ConnectionHandle(settings, name: "ledger-newest")
        defer { connection.close() }
        try Self.follow(settings.names.ledger, from: .last, prefetch: batch, on: connection)
        guard var newest = try first(on: connection) else { return nil }
        var round = 0
        while true {
            try connection.acknowledge(newest.tag, multiple: true)
            _ = try connection.messageCount(of: settings.names.ledger)
            var count = 0
            while let delivery = try Self.delivery(on: connection, waiting: .zero) {
                newest = delivery
                count += 1
            }
            // The first acknowledgement may have left out what was still on its way.
            if count == 0 || (round > 0 && count < batch) { return LedgerBounds.Place(newest) }
            round += 1
        }
    }

    /// The first message that comes; nil when the ledger is empty. An empty one is silent, so this takes time then.
    private func first(on connection: ConnectionHandle) throws(BrokerError) -> BrokerDelivery? {
        if let delivery = try Self.delivery(on: connection, waiting: settings.connectTimeout) { return delivery }
        let count = try connection.messageCount(of: settings.names.ledger)
        guard count == 0 else {
            throw BrokerError(
                .timedOut,
                "\(settings.names.ledger) has \(count) messages, and none came within \(settings.connectTimeout)")
        }
        return nil
    }

    // MARK: Steps

    static func follow(
        _ ledger: String, from start: LedgerStart, prefetch: Int, on connection: ConnectionHandle
    ) throws(BrokerError) {
        try connection.consume(
            ledger, prefetch: prefetch, consumer: "ledger-reader", arguments: [("x-stream-offset", start.argument)])
    }

    private static func delivery(
        on connection: ConnectionHandle, waiting: Duration
    ) throws(BrokerError) -> BrokerDelivery? {
        let end = ContinuousClock.now + waiting
        while let event = try connection.nextEvent(waiting: max(.zero, end - .now)) {
            switch event {
            case .delivered(let delivery): return delivery
            case .consumerCancelled: throw BrokerError(.unreachable, "the broker ended the reading of the ledger")
            case .blocked, .unblocked, .confirmed, .refused, .returned: continue
            }
        }
        return nil
    }
}
