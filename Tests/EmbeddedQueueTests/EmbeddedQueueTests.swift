import Broker
import Consumer
import EmbeddedQueue
import EmbeddedStore
import Gateway
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@Suite(.timeLimit(.minutes(6))) struct EmbeddedQueueTests {
    private static let names = BrokerNames(prefix: "test")

    private func withQueue<Value>(
        in folder: TemporaryFolder? = nil, eventsKept: Int = 1000, clock: WallClock = .system,
        _ body: (EmbeddedQueue) async throws -> Value
    ) async throws -> Value {
        let folder = try folder ?? TemporaryFolder("queue")
        let file = try EmbeddedRedis(settings: EmbeddedStoreSettings(path: folder.file("queue.db")))
        try await file.start()
        let queue = EmbeddedQueue(
            redis: file.connector.link("queue"), names: Self.names, eventsKept: eventsKept, clock: clock)
        let result: Result<Value, any Error>
        do { result = .success(try await body(queue)) } catch { result = .failure(error) }
        await file.drain()
        return try result.get()
    }

    private func message(_ text: String, _ headers: [String: String] = [:]) -> BrokerMessage {
        BrokerMessage(
            body: Array(text.utf8), headers: headers, messageID: "id-\(text)", type: "t", contentType: "c",
            timestamp: Timestamp(milliseconds: 1_700_000_000_000))
    }

    /// What a subscription was given, and what it says to each.
    private final class Hands: Sendable {
        let seen = Mutex<[(body: String, isRedelivered: Bool)]>([])
        let settlement: @Sendable (String) async -> Settlement

        init(_ settlement: @escaping @Sendable (String) async -> Settlement = { _ in .acknowledge }) {
            self.settlement = settlement
        }

        func take(_ delivery: BrokerDelivery) async -> Settlement {
            let body = String(decoding: delivery.message.body, as: UTF8.self)
            seen.withLock { $0.append((body, delivery.isRedelivered)) }
            return await settlement(body)
        }

        var bodies: [String] { seen.withLock { $0.map(\.body) } }
    }

    private func withSubscription<Value>(
        _ queue: EmbeddedQueue, _ hands: Hands, concurrency: Int = 4, _ body: () async throws -> Value
    ) async throws -> Value {
        let subscription = EmbeddedSubscription(
            queue: queue, concurrency: concurrency, poll: .milliseconds(20), log: .discarding
        ) { await hands.take($0) }
        try await subscription.start()
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        await subscription.drain()
        return try result.get()
    }

    @Test(arguments: [
        BrokerMessage(body: []), BrokerMessage(body: [0, 255, 10], headers: ["": "", "a": "ä\0"]),
        BrokerMessage(body: [1], messageID: "", type: "x", contentType: "y", timestamp: Timestamp(milliseconds: 5000)),
    ])
    func aMessageComesBackAsItWas(_ message: BrokerMessage) {
        let bytes = StoredMessage.encode(message)
        #expect(StoredMessage.decode(bytes) == message)
        for length in 0..<bytes.count { #expect(StoredMessage.decode(Array(bytes.prefix(length))) == nil) }
    }

    @Test("Invariant 2: what came in is in the ledger, and is handed on until it was settled")
    func whatCameInIsHandedOnUntilSettled() async throws {
        let folder = try TemporaryFolder("queue")
        try await withQueue(in: folder) { queue in
            for number in 0..<20 {
                try await queue.publish(
                    message("m\(number)"), to: Self.names.intake, routingKey: "", mandatory: true)
            }
            let found1 = try await queue.counts()
            #expect(found1 == EmbeddedQueue.Counts(work: 20, ledger: 20))
        }
        // Another process.
        try await withQueue(in: folder) { queue in
            let hands = Hands { $0 == "m7" ? .requeue : .acknowledge }
            try await withSubscription(queue, hands, concurrency: 1) {
                check(try await eventually { try await queue.counts().work == 1 })
                check(try await eventually { hands.bodies.count { $0 == "m7" } > 1 })
            }
            check(Array(hands.bodies.prefix(8)) == (0..<8).map { "m\($0)" })
            // Nobody knows whether the process before had begun with them.
            check(hands.seen.withLock { $0.allSatisfy(\.isRedelivered) })
            let ledger = try await queue.ledger(after: "0", limit: 100)
            check(ledger.map { String(decoding: $0.message.body, as: UTF8.self) } == (0..<20).map { "m\($0)" })
            #expect(ledger.first?.message == message("m0"))
        }
    }

    @Test("Invariant 10: no more are in hand than may be") func noMoreAreInHandThanMayBe() async throws {
        try await withQueue { queue in
            let inHand = Mutex((now: 0, most: 0))
            let hands = Hands { _ in
                inHand.withLock {
                    $0.now += 1
                    $0.most = max($0.most, $0.now)
                }
                await Task.yield()
                inHand.withLock { $0.now -= 1 }
                return .acknowledge
            }
            for number in 0..<60 {
                try await queue.publish(message("\(number)"), to: Self.names.intake, routingKey: "", mandatory: true)
            }
            try await withSubscription(queue, hands, concurrency: 3) {
                check(try await eventually { try await queue.counts().work == 0 })
            }
            check(inHand.withLock { $0.most } <= 3)
            // At least once: on a slow disk one may come again.
            #expect(Set(hands.bodies).count == 60)
        }
    }

    @Test func whatIsToBeTriedLaterWaitsItsTimeAlsoOverARestart() async throws {
        let folder = try TemporaryFolder("queue")
        let instant = Metrics().gauge("now", "")
        instant.set(1_700_000_000_000)
        let clock = WallClock { Timestamp(milliseconds: Int64(instant.value)) }
        let level = RetryLevel.after(attempts: 2)
        try await withQueue(in: folder, clock: clock) { queue in
            try await queue.publish(
                message("later"), to: "", routingKey: Self.names.retry(level), mandatory: true)
            let found2 = try await queue.due(limit: 10)
            #expect(found2.isEmpty)
        }
        try await withQueue(in: folder, clock: clock) { queue in
            instant.set(1_700_000_000_000 + 4999)
            let found3 = try await queue.due(limit: 10)
            #expect(found3.isEmpty)
            instant.set(1_700_000_000_000 + 5000)
            let found4 = try await queue.due(limit: 10)
            #expect(found4.count == 1)
            // It was in the ledger when it came.
            let found5 = try await queue.counts()
            #expect(found5.ledger == 0)
        }
    }

    @Test("Invariant 2: quarantine keeps what lies in it, and gives back what is asked for, through the ledger")
    func quarantineGivesBackWhatIsAskedFor() async throws {
        try await withQueue { queue in
            for reason in ["unknownApp", "unknownKind", "unknownApp"] {
                let headers = [
                    MessageHeader.reason: reason, MessageHeader.reasonDetail: "Why.", MessageHeader.attempt: "3",
                ]
                try await queue.publish(
                    message(reason, headers), to: "", routingKey: Self.names.quarantine, mandatory: true)
            }
            let found = try await queue.quarantined(limit: 2)
            check(found.map { QuarantinedMessage($0.message).reason.code } == ["unknownApp", "unknownKind"])
            let report = try await queue.retry { $0.reason.code == "unknownApp" }
            #expect(report == QuarantineQueue.Report(returned: 2, kept: 1))
            let found6 = try await queue.counts()
            #expect(found6 == EmbeddedQueue.Counts(work: 2, quarantine: 1, ledger: 2))
            let due = try await queue.due(limit: 10)
            let back = try #require(due.first)
            #expect(back.message.headers[MessageHeader.reason] == nil)
            #expect(back.message.headers[MessageHeader.attempt] == nil)
            #expect(back.message.headers[MessageHeader.returnedAt] != nil)
        }
    }

    @Test("Invariant 10: of the events the last are kept") func ofTheEventsTheLastAreKept() async throws {
        try await withQueue(eventsKept: 1000) { queue in
            for number in 0..<1300 {
                try await queue.publish(
                    message("e\(number)"), to: Self.names.events, routingKey: "demo.changed", mandatory: false)
            }
            let events = try await queue.events(after: "0", limit: 10_000)
            #expect(events.count >= 1000 && events.count < 1100)
            #expect(events.last?.routingKey == "demo.changed")
            check(events.last.map { String(decoding: $0.item.message.body, as: UTF8.self) } == "e1299")
            let place = events[events.count - 3].item.id
            let found7 = try await queue.events(after: place, limit: 10)
            #expect(found7.count == 2)
        }
    }

    @Test func whatNobodyBindsIsRefused() async throws {
        try await withQueue { queue in
            do throws(BrokerError) {
                try await queue.publish(message("a"), to: "elsewhere", routingKey: "", mandatory: true)
                Issue.record("taken")
            } catch { #expect(error.code == .notFound) }
        }
    }

    @Test("Invariant 1: a gateway's message is durable when it is stored, and one that cannot be is said to be so")
    func aGatewaysMessageIsDurable() async throws {
        let folder = try TemporaryFolder("queue")
        try await withQueue(in: folder) { queue in
            let sink = EmbeddedQueueSink(queue)
            #expect(sink.isHealthy)
            try await sink.store(IntakeMessage(headers: ["app": "demo"], messageID: "u", body: [1]))
            try await sink.store(IntakeMessage(destination: .quarantine, body: [2]))
            let found8 = try await queue.counts()
            #expect(found8 == EmbeddedQueue.Counts(work: 1, quarantine: 1, ledger: 1))
        }
        let file = try EmbeddedRedis(settings: EmbeddedStoreSettings(path: folder.file("queue.db")))
        let closed = EmbeddedQueueSink(EmbeddedQueue(redis: file.connector.link("queue"), names: Self.names))
        #expect(!closed.isHealthy)
        do throws(SinkFailure) {
            try await closed.store(IntakeMessage(body: [3]))
            Issue.record("stored in a closed file")
        } catch {
            guard case .unavailable = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    /// kill -9 at any moment: a process appends and applies, and tells of each that was acknowledged to it.
    @Test("Invariant 1: whoever is killed has lost nothing that was acknowledged", arguments: 0..<3)
    func whoeverIsKilledHasLostNothing(_: Int) async throws {
        let folder = try TemporaryFolder("queue")
        let log = folder.file("log")
        let child = try ChildProcess(ChildProcess.product("QueueProbe"), [folder.path], log: log)
        let wanted = Int.random(in: 50..<600)
        check(try await eventually { child.log.count { $0 == "\n" } >= wanted })
        await child.kill()
        var stored: Set<String> = []
        var applied: Set<String> = []
        // The last line may be cut off.
        for line in child.log.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let words = line.split(separator: " ")
            guard words.count == 2 else { continue }
            if words[0] == "stored" { stored.insert(String(words[1])) }
            if words[0] == "applied" { applied.insert(String(words[1])) }
        }
        #expect(!stored.isEmpty)
        try await withQueue(in: folder) { queue in
            var ledger: Set<String> = []
            var place = "0"
            while true {
                let items = try await queue.ledger(after: place, limit: 1000)
                guard let last = items.last else { break }
                place = last.id
                for item in items { ledger.insert(String(decoding: item.message.body, as: UTF8.self)) }
            }
            let waiting = try await queue.waiting(limit: 100_000)
            let left = Set(waiting.map { String(decoding: $0.message.body, as: UTF8.self) })
            #expect(stored.isSubset(of: ledger))
            #expect(stored.subtracting(applied).isSubset(of: left))
        }
    }
}
