package import Broker
package import Consumer
package import Gateway
package import Redis
package import Runtime
internal import Synchronization
internal import Time

/// What RabbitMQ is to the line, in one file: the ledger of all that came in, what is to be applied, what waits for
/// another try, quarantine, and the last events for others.
///
/// Each call returns once what it did is on the disk; calls that come together share one sync. Several processes may
/// work on the same file, so a command can put quarantine back to work while `serve` runs.
package final class EmbeddedQueue: MessagePublisher {
    package let names: BrokerNames
    let clock: WallClock
    private let redis: any RedisLink
    private let eventsKept: Int
    private let arrivals = Mutex<AsyncStream<Void>.Continuation?>(nil)

    /// `redis` leads to the queue's own file.
    package init(redis: any RedisLink, names: BrokerNames, eventsKept: Int = 100_000, clock: WallClock = .system) {
        self.redis = redis
        self.names = names
        self.eventsKept = eventsKept
        self.clock = clock
    }

    package var isConnected: Bool { redis.isConnected }

    // MARK: Publishing

    /// Takes what a consumer publishes, by the broker's names.
    package func publish(
        _ message: BrokerMessage, to exchange: String, routingKey: String, mandatory: Bool
    ) async throws(BrokerError) {
        do throws(RedisError) {
            if exchange == names.intake { return try await add(message, toLedger: true) }
            if exchange == names.events { return try await addEvent(message, routingKey: routingKey) }
            if exchange.isEmpty {
                if routingKey == names.apply { return try await add(message, toLedger: false) }
                if routingKey == names.quarantine { return try await addToQuarantine(message) }
                for level in RetryLevel.allCases where routingKey == names.retry(level) {
                    return try await add(message, toLedger: false, after: level.delay)
                }
            }
        } catch {
            throw BrokerError(error.code == .closed ? .closed : .unreachable, "the embedded queue: \(error)")
        }
        throw BrokerError(.notFound, "the embedded queue has no \(exchange.isEmpty ? routingKey : exchange)")
    }

    private func add(_ message: BrokerMessage, toLedger: Bool, after delay: Duration = .zero) async throws(RedisError) {
        let due = clock.now().milliseconds &+ Int64(delay / .milliseconds(1))
        _ = try await redis.evaluate(
            QueueScripts.add,
            keys: [QueueScripts.work, QueueScripts.messages, QueueScripts.facts, QueueScripts.ledger],
            arguments: [RedisArgument(due), .bytes(StoredMessage.encode(message)), toLedger ? "1" : ""])
        arrivals.withLock { _ = $0?.yield() }
    }

    private func addToQuarantine(_ message: BrokerMessage) async throws(RedisError) {
        _ = try await redis.evaluate(
            QueueScripts.add,
            keys: [QueueScripts.quarantine, QueueScripts.quarantined, QueueScripts.facts, QueueScripts.ledger],
            arguments: [RedisArgument(clock.now().milliseconds), .bytes(StoredMessage.encode(message)), ""])
    }

    private func addEvent(_ message: BrokerMessage, routingKey: String) async throws(RedisError) {
        _ = try await redis.send([
            "XADD", .text(QueueScripts.events), "MAXLEN", "~", RedisArgument(eventsKept), "*", "k", .text(routingKey),
            "m", .bytes(StoredMessage.encode(message)),
        ])
    }

    // MARK: Work

    /// A message of a line.
    package struct Item: Sendable {
        package let id: String
        package let message: BrokerMessage
    }

    /// Wakes the one who applies whenever this process has added something.
    func wakeups() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        arrivals.withLock { $0 = continuation }
        return stream
    }

    /// What is due, oldest first.
    package func due(limit: Int) async throws(RedisError) -> [Item] {
        try await items(
            QueueScripts.work, QueueScripts.messages, until: RedisArgument(clock.now().milliseconds), limit: limit)
    }

    /// Everything that waits, due or not, oldest first.
    package func waiting(limit: Int) async throws(RedisError) -> [Item] {
        try await items(QueueScripts.work, QueueScripts.messages, until: "+inf", limit: limit)
    }

    /// Applied, or put elsewhere.
    package func acknowledge(_ id: String) async throws(RedisError) {
        _ = try await redis.evaluate(
            QueueScripts.remove, keys: [QueueScripts.work, QueueScripts.messages], arguments: [.text(id)])
    }

    /// The number given last: whatever has a smaller one was there before.
    func lastID() async throws(RedisError) -> UInt64 {
        try await redis.send(["HGET", .text(QueueScripts.facts), "n"]).string.flatMap { UInt64($0) } ?? 0
    }

    private func items(
        _ line: String, _ messages: String, until: RedisArgument, limit: Int
    ) async throws(RedisError) -> [Item] {
        guard limit > 0 else { return [] }
        let ids = try await redis.send([
            "ZRANGEBYSCORE", .text(line), "-inf", until, "LIMIT", "0", RedisArgument(limit),
        ]).array?.compactMap(\.string)
        guard let ids, !ids.isEmpty else { return [] }
        let found = try await redis.send(["HMGET", .text(messages)] + ids.map { .text($0) }).array ?? []
        var items: [Item] = []
        for (id, bytes) in zip(ids, found) {
            // Whoever settled it in between has taken its message away; what no version of ours wrote stays where it is.
            guard let message = bytes.bytes.flatMap({ StoredMessage.decode($0) }) else { continue }
            items.append(Item(id: id, message: message))
        }
        return items
    }

    // MARK: Quarantine

    /// The oldest, which stay where they are.
    package func quarantined(limit: Int) async throws(RedisError) -> [Item] {
        try await items(QueueScripts.quarantine, QueueScripts.quarantined, until: "+inf", limit: limit)
    }

    /// Puts the selected messages back to work, those that are in quarantine when it is called.
    package func retry(
        where isSelected: (QuarantinedMessage) -> Bool
    ) async throws(RedisError) -> QuarantineQueue.Report {
        var report = QuarantineQueue.Report()
        for item in try await quarantined(limit: Int.max) {
            guard isSelected(QuarantinedMessage(item.message)) else {
                report.kept += 1
                continue
            }
            let message = QuarantineQueue.returned(item.message, at: clock.now())
            let moved = try await redis.evaluate(
                QueueScripts.putBack,
                keys: [
                    QueueScripts.quarantine, QueueScripts.quarantined, QueueScripts.work, QueueScripts.messages,
                    QueueScripts.ledger,
                ],
                arguments: [
                    .text(item.id), RedisArgument(clock.now().milliseconds), .bytes(StoredMessage.encode(message)),
                ])
            if moved.integer == 1 { report.returned += 1 }
        }
        arrivals.withLock { _ = $0?.yield() }
        return report
    }

    func takeOutOfQuarantine(_ id: String) async throws(RedisError) {
        _ = try await redis.evaluate(
            QueueScripts.remove, keys: [QueueScripts.quarantine, QueueScripts.quarantined], arguments: [.text(id)])
    }

    /// Up to where the ledger was carried over to RabbitMQ.
    func movedPlace() async throws(RedisError) -> String {
        try await redis.send(["HGET", .text(QueueScripts.facts), "moved"]).string ?? "0"
    }

    func noteMoved(to place: String) async throws(RedisError) {
        _ = try await redis.send(["HSET", .text(QueueScripts.facts), "moved", .text(place)])
    }

    // MARK: Ledger, events, and how much there is

    /// What is in a stream behind `place` (`0` for the beginning), oldest first, with the place behind each.
    package func ledger(after place: String, limit: Int) async throws(RedisError) -> [Item] {
        try await stream(QueueScripts.ledger, after: place, limit: limit).map(\.item)
    }

    /// What the ledger holds at one moment.
    package struct LedgerState: Sendable, Hashable {
        /// Places; nil when there is nothing.
        package var oldest: String?
        package var newest: String?
        package var count = 0
        /// Whether nothing was let go of yet.
        package var isWhole = true
    }

    package func ledgerState() async throws(RedisError) -> LedgerState {
        var state = LedgerState()
        let info: [RedisReply]
        do throws(RedisError) {
            info = try await redis.send(["XINFO", "STREAM", .text(QueueScripts.ledger)]).array ?? []
        } catch {
            // Nothing has come in yet.
            if error.code == .refused, error.message.hasPrefix("ERR no such key") { return state }
            throw error
        }
        var added: Int64 = 0
        for pair in stride(from: 0, to: info.count - 1, by: 2) {
            let value = info[pair + 1]
            switch info[pair].string {
            case "length": state.count = Int(clamping: value.integer ?? 0)
            case "entries-added": added = value.integer ?? 0
            case "first-entry": state.oldest = value.array?.first?.string
            case "last-entry": state.newest = value.array?.first?.string
            default: break
            }
        }
        state.isWhole = added == state.count
        return state
    }

    package struct Event: Sendable {
        package let item: Item
        package let routingKey: String
    }

    package func events(after place: String, limit: Int) async throws(RedisError) -> [Event] {
        try await stream(QueueScripts.events, after: place, limit: limit)
    }

    private func stream(_ name: String, after place: String, limit: Int) async throws(RedisError) -> [Event] {
        let reply = try await redis.send([
            "XREAD", "COUNT", RedisArgument(limit), "STREAMS", .text(name), .text(place),
        ])
        var events: [Event] = []
        for entry in reply.array?.first?.array?.last?.array ?? [] {
            guard let parts = entry.array, parts.count == 2, let id = parts[0].string, let fields = parts[1].array
            else { throw RedisError(.unexpectedReply, "XREAD") }
            var (key, message): (String, BrokerMessage?) = ("", nil)
            for pair in stride(from: 0, to: fields.count - 1, by: 2) {
                switch fields[pair].string {
                case "k": key = fields[pair + 1].string ?? ""
                case "m": message = fields[pair + 1].bytes.flatMap { StoredMessage.decode($0) }
                default: break
                }
            }
            guard let message else { throw RedisError(.unexpectedReply, "an entry that this version did not write") }
            events.append(Event(item: Item(id: id, message: message), routingKey: key))
        }
        return events
    }

    package struct Counts: Sendable, Hashable {
        package var work = 0
        package var quarantine = 0
        package var ledger = 0
        package var events = 0

        package init(work: Int = 0, quarantine: Int = 0, ledger: Int = 0, events: Int = 0) {
            self.work = work
            self.quarantine = quarantine
            self.ledger = ledger
            self.events = events
        }
    }

    package func counts() async throws(RedisError) -> Counts {
        func number(_ words: [RedisArgument]) async throws(RedisError) -> Int {
            Int(clamping: try await redis.send(words).integer ?? 0)
        }
        return Counts(
            work: try await number(["ZCARD", .text(QueueScripts.work)]),
            quarantine: try await number(["ZCARD", .text(QueueScripts.quarantine)]),
            ledger: try await number(["XLEN", .text(QueueScripts.ledger)]),
            events: try await number(["XLEN", .text(QueueScripts.events)]))
    }

    /// Lets go of what the ledger keeps no longer: what is too old, and the oldest when the file holds too much.
    func trimLedger(maximumAge: Duration, maximumBytes: Int) async throws(RedisError) {
        let oldest = clock.now().milliseconds &- Int64(maximumAge / .milliseconds(1))
        _ = try await redis.send(["XTRIM", .text(QueueScripts.ledger), "MINID", "\(max(0, oldest))-0"])
        let info = try await redis.send(["INFO"]).string ?? ""
        let line = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("used_bytes:") }
        guard let used = line.flatMap({ Int($0.dropFirst("used_bytes:".count)) }), used > maximumBytes else { return }
        let length = try await redis.send(["XLEN", .text(QueueScripts.ledger)]).integer ?? 0
        _ = try await redis.send(["XTRIM", .text(QueueScripts.ledger), "MAXLEN", RedisArgument(length - length / 20)])
    }
}

/// The queue as a place for messages.
package struct EmbeddedQueueSink: MessageSink {
    private let queue: EmbeddedQueue

    package init(_ queue: EmbeddedQueue) { self.queue = queue }

    package var isHealthy: Bool { queue.isConnected }

    package func store(_ message: IntakeMessage) async throws(SinkFailure) {
        let published = BrokerSink.message(message)
        do throws(BrokerError) {
            switch message.destination {
            case .intake: try await queue.publish(published, to: queue.names.intake, routingKey: "", mandatory: true)
            case .quarantine:
                try await queue.publish(published, to: "", routingKey: queue.names.quarantine, mandatory: true)
            }
        } catch { throw .unavailable("\(error)") }
    }
}
