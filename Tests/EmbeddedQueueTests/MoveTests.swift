import Broker
import CacheTier
import Consumer
import EmbeddedQueue
import EmbeddedStore
import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

/// A life without servers goes on with them.
@Suite(.timeLimit(.minutes(6))) struct MoveTests {
    private static let app = AppID("moving")

    private func lineage(_ number: Int) -> LineageID {
        LineageID(app: Self.app, environment: .production, originalTransactionID: "\(1000 + number)")
    }

    /// The `later` one is a renewal.
    private func period(_ number: Int, customer: String?, isLater: Bool = false) -> Observation {
        let start = Timestamp(milliseconds: 1_700_000_000_000 + (isLater ? 30 * 86_400_000 : 0))
        return Observation(
            lineage: lineage(number), source: .notification, signedDate: start,
            transaction: TransactionFact(
                transactionID: "\(isLater ? "later-" : "")\(1000 + number)", originalTransactionID: "\(1000 + number)",
                productID: "pro",
                signedDate: start, purchaseDate: start,
                expiresDate: Timestamp(milliseconds: start.milliseconds + 30 * 86_400_000),
                type: "Auto-Renewable Subscription", subscriptionGroupID: "g", appAccountToken: customer,
                ownership: "PURCHASED", payloadHash: "hash-\(number)-\(isLater)"))
    }

    private func withEmbedded<Value>(
        _ folder: TemporaryFolder, _ file: String, _ body: (EmbeddedRedis) async throws -> Value
    ) async throws -> Value {
        let store = try EmbeddedRedis(settings: EmbeddedStoreSettings(path: folder.file(file)))
        try await store.start()
        let result: Result<Value, any Error>
        do { result = .success(try await body(store)) } catch { result = .failure(error) }
        await store.drain()
        return try result.get()
    }

    private func withRedis<Value>(
        _ server: RedisServer, _ body: (any RedisLink) async throws -> Value
    ) async throws -> Value {
        var settings = RedisSettings()
        settings.port = server.port
        settings.commandTimeout = .seconds(30)
        let loop = try EventLoop(name: "move-test")
        let link = settings.connector(loop: loop).link("test")
        await link.start()
        let result: Result<Value, any Error>
        do { result = .success(try await body(link)) } catch { result = .failure(error) }
        await link.close()
        loop.stop()
        return try result.get()
    }

    /// A link that fails from a certain command on.
    private struct Failing: RedisCommands {
        let redis: any RedisLink
        let after: Counter

        func send(_ arguments: [RedisArgument]) async throws(RedisError) -> RedisReply {
            try count()
            return try await redis.send(arguments)
        }

        func evaluate(
            _ script: RedisScript, keys: [String], arguments: [RedisArgument]
        ) async throws(RedisError) -> RedisReply {
            try count()
            return try await redis.evaluate(script, keys: keys, arguments: arguments)
        }

        private func count() throws(RedisError) {
            if after.value > 60 { throw RedisError(.unreachable, "injected") }
            after.increment()
        }
    }

    @Test func everyAnswerIsTheSameAfterTheMoveAlsoAfterOneThatWasInterrupted() async throws {
        let folder = try TemporaryFolder("move")
        try await RedisServer.withOwn { server in
            try await withEmbedded(folder, "store.db") { source in
                let store = LineageStore(redis: source)
                for number in 0..<80 {
                    _ = try await store.apply(
                        period(number, customer: number % 5 == 0 ? nil : "c\(number % 20)"), cause: .other,
                        at: Timestamp(milliseconds: 1_700_000_000_000))
                }
                _ = try await source.send(["SET", "hf:{p00}:lease", "me", "PX", "600000"])
                try await withRedis(server) { target in
                    let interrupted = StoreMove(
                        from: source, to: Failing(redis: target, after: Metrics().counter("n", "")),
                        layoutKey: StoreInspector.layoutKey)
                    await #expect(throws: StoreMove.Failure.self) { _ = try await interrupted.run { _, _ in } }
                    let layout = try await target.send(["GET", .text(StoreInspector.layoutKey)])
                    #expect(layout.isNull)

                    let move = StoreMove(from: source, to: target, layoutKey: StoreInspector.layoutKey)
                    let report = try await move.run { _, _ in }
                    #expect(report.copied > 50)
                    #expect(report.removed > 20)
                    try await compare(source, target)
                    let again = try await move.run { _, _ in }
                    #expect(again.wasDone)

                    // And life goes on there.
                    let there = LineageStore(redis: target)
                    let known = try await there.apply(
                        period(1, customer: "c1"), cause: .other, at: Timestamp(milliseconds: 1_700_000_000_000))
                    #expect(!known.changed)
                }
            }
        }
    }

    @Test("Invariant 2: what happened between a move that was interrupted and the next one is not lost")
    func whatHappenedBetweenAMoveThatWasInterruptedAndTheNextOneIsNotLost() async throws {
        let folder = try TemporaryFolder("move")
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        try await RedisServer.withOwn { server in
            try await withEmbedded(folder, "store.db") { source in
                let store = LineageStore(redis: source)
                for number in 0..<80 {
                    _ = try await store.apply(period(number, customer: "c\(number % 20)"), cause: .other, at: now)
                }
                let before: [[RedisArgument]] = [
                    ["SET", "hf:{p01}:text", "old", "PX", "600000"], ["RPUSH", "hf:{p02}:list", "a", "b"],
                    ["ZADD", "hf:{p03}:order", "1", "a", "2", "b"], ["HSET", "hf:{p04}:hash", "a", "1", "b", "1"],
                    ["XADD", "hf:{p05}:stream", "5-0", "k", "old"], ["SET", "hf:{p06}:gone", "1"],
                ]
                for command in before { _ = try await source.send(command) }
                try await withRedis(server) { target in
                    let interrupted = StoreMove(
                        from: source, to: Failing(redis: target, after: Metrics().counter("n", "")),
                        layoutKey: StoreInspector.layoutKey)
                    await #expect(throws: StoreMove.Failure.self) { _ = try await interrupted.run { _, _ in } }
                    // However far it came: these it had copied, and somebody else has a key there.
                    _ = try await target.send(["DEL"] + Self.mixed.map { .text($0) })
                    for command in before { _ = try await target.send(command) }
                    _ = try await target.send(["SET", "other", "1"])

                    // serve goes on.
                    for number in 0..<40 {
                        let renewed = try await store.apply(
                            period(number, customer: "c\(number % 20)", isLater: true), cause: .renewal, at: now)
                        #expect(renewed.changed)
                    }
                    _ = try await store.apply(period(100, customer: "new"), cause: .other, at: now)
                    let after: [[RedisArgument]] = [
                        ["SET", "hf:{p01}:text", "new"], ["RPUSH", "hf:{p02}:list", "c"],
                        ["ZREM", "hf:{p03}:order", "a"], ["HDEL", "hf:{p04}:hash", "a"], ["DEL", "hf:{p05}:stream"],
                        ["XADD", "hf:{p05}:stream", "4-0", "k", "new"], ["DEL", "hf:{p06}:gone"],
                    ]
                    for command in after { _ = try await source.send(command) }

                    let move = StoreMove(from: source, to: target, layoutKey: StoreInspector.layoutKey)
                    let report = try await move.run { _, _ in }
                    #expect(report.removed > 0)
                    let other = try await target.send(["GET", "other"]).string
                    #expect(other == "1")
                    _ = try await target.send(["DEL", "other"])
                    try await compare(source, target)
                    let found = try await LineageStore(redis: target).find(lineage(1))
                    #expect(found?.record.transactions.count == 2)
                }
            }
        }
    }

    private static let mixed = [
        "hf:{p01}:text", "hf:{p02}:list", "hf:{p03}:order", "hf:{p04}:hash", "hf:{p05}:stream", "hf:{p06}:gone",
    ]

    /// In a cluster each server has a part of the layout; one that lost a server is somebody's store all the same.
    @Test func aClusterWithAPartOfAStoreIsLeftAsItIs() async throws {
        let folder = try TemporaryFolder("move")
        try await RedisServer.withOwn { server in
            try await withRedis(server) { target in
                _ = try await target.send(["SET", "hf:{p17}:layout", "1 64 other"])
                _ = try await target.send(["SET", "hf:{p17}:something", "1"])
                try await withEmbedded(folder, "store.db") { source in
                    try await LineageStore(redis: source).prepare()
                    let move = StoreMove(from: source, to: target, layoutKey: StoreInspector.layoutKey)
                    do throws(StoreMove.Failure) {
                        _ = try await move.run { _, _ in }
                        Issue.record("moved")
                    } catch {
                        guard case .otherStore(found: "1 64 other") = error else {
                            Issue.record("\(error)")
                            return
                        }
                    }
                }
                let keys = try await target.send(["DBSIZE"]).integer
                #expect(keys == 2)
            }
        }
    }

    private func compare(_ source: EmbeddedRedis, _ target: any RedisLink) async throws {
        let keys = (try await source.send(["KEYS", "hf:*"]).array ?? []).compactMap(\.string)
        let others = (try await target.send(["KEYS", "*"]).array ?? []).compactMap(\.string)
        #expect(Set(keys) == Set(others))
        for key in keys {
            let type = try await source.send(["TYPE", .text(key)]).string
            let command: [RedisArgument]
            switch type {
            case "hash": command = ["HGETALL", .text(key)]
            case "list": command = ["LRANGE", .text(key), "0", "-1"]
            case "zset": command = ["ZRANGE", .text(key), "0", "-1", "WITHSCORES"]
            case "stream": command = ["XRANGE", .text(key), "-", "+"]
            default: command = ["GET", .text(key)]
            }
            let mine = try await source.send(command)
            let theirs = try await target.send(command)
            if type == "hash" {
                #expect(pairs(mine) == pairs(theirs), "\(key)")
            } else {
                #expect(mine == theirs, "\(key)")
            }
            let ours = try await source.send(["PTTL", .text(key)]).integer ?? 0
            let left = try await target.send(["PTTL", .text(key)]).integer ?? 0
            #expect((ours < 0) == (left < 0), "\(key)")
        }
        for number in 0..<80 {
            let mine = try await LineageStore(redis: source).find(lineage(number))
            let theirs = try await LineageStore(redis: target).find(lineage(number))
            #expect(mine != nil)
            #expect(mine == theirs)
        }
    }

    private func pairs(_ reply: RedisReply) -> [RedisReply: RedisReply] {
        let flat = reply.array ?? []
        var pairs: [RedisReply: RedisReply] = [:]
        for place in stride(from: 0, to: flat.count - 1, by: 2) { pairs[flat[place]] = flat[place + 1] }
        return pairs
    }

    @Test func aRedisWithAStoreOfItsOwnIsLeftAsItIs() async throws {
        let folder = try TemporaryFolder("move")
        try await RedisServer.withOwn { server in
            try await withRedis(server) { target in
                _ = try await target.send(["SET", .text(StoreInspector.layoutKey), "1 64 other"])
                try await withEmbedded(folder, "store.db") { source in
                    try await LineageStore(redis: source).prepare()
                    let move = StoreMove(from: source, to: target, layoutKey: StoreInspector.layoutKey)
                    do throws(StoreMove.Failure) {
                        _ = try await move.run { _, _ in }
                        Issue.record("moved")
                    } catch {
                        guard case .otherStore(found: "1 64 other") = error else {
                            Issue.record("\(error)")
                            return
                        }
                    }
                }
                let keys = try await target.send(["DBSIZE"]).integer
                #expect(keys == 1)
            }
        }
    }

    /// A follower that is further behind than the stream reaches must notice on the other side, too.
    @Test func aStreamThatWasTrimmedStillLooksTrimmed() async throws {
        let folder = try TemporaryFolder("move")
        try await RedisServer.withOwn { server in
            try await withRedis(server) { target in
                try await withEmbedded(folder, "store.db") { source in
                    try await LineageStore(redis: source).prepare()
                    for number in 1...10 {
                        _ = try await source.send([
                            "XADD", "hf:{p05}:changes", "MAXLEN", "=", "4", "\(number)-0", "k", "v",
                        ])
                    }
                    let move = StoreMove(from: source, to: target, layoutKey: StoreInspector.layoutKey)
                    _ = try await move.run { _, _ in }
                    let info = try await target.send(["XINFO", "STREAM", "hf:{p05}:changes"]).array ?? []
                    let added = info.firstIndex { $0.string == "entries-added" }.map { info[$0 + 1].integer }
                    let last = info.firstIndex { $0.string == "last-generated-id" }.map { info[$0 + 1].string }
                    #expect(added == 5)
                    #expect(last == "10-0")
                    let length = try await target.send(["XLEN", "hf:{p05}:changes"]).integer
                    #expect(length == 4)
                }
            }
        }
    }

    /// What RabbitMQ was given, by queue.
    private actor Broker: MessagePublisher {
        nonisolated var isConnected: Bool { true }
        private(set) var messages: [String: [String]] = [:]
        private var failsAfter: Int

        init(failsAfter: Int = .max) { self.failsAfter = failsAfter }

        func publish(
            _ message: BrokerMessage, to exchange: String, routingKey: String, mandatory: Bool
        ) async throws(BrokerError) {
            guard failsAfter > 0 else { throw BrokerError(.unreachable, "injected") }
            failsAfter -= 1
            messages[routingKey, default: []].append(String(decoding: message.body, as: UTF8.self))
        }
    }

    @Test("Invariant 2: a move of the queue that is interrupted goes on, and loses nothing", arguments: [5, 200, 305])
    func aMoveOfTheQueueThatIsInterruptedGoesOn(failsAfter: Int) async throws {
        let folder = try TemporaryFolder("move")
        let names = BrokerNames(prefix: "test")
        try await withEmbedded(folder, "queue.db") { file in
            let queue = EmbeddedQueue(redis: file.connector.link("queue"), names: names)
            for number in 0..<300 {
                try await queue.publish(
                    BrokerMessage(body: Array("\(number)".utf8)), to: names.intake, routingKey: "", mandatory: true)
            }
            for item in try await queue.due(limit: 290) { try await queue.acknowledge(item.id) }
            try await queue.publish(
                BrokerMessage(body: Array("bad".utf8)), to: "", routingKey: names.quarantine, mandatory: true)

            let first = Broker(failsAfter: failsAfter)
            await #expect(throws: QueueMove.Failure.self) {
                _ = try await QueueMove(from: queue, to: first).run { _ in }
            }
            let second = Broker()
            _ = try await QueueMove(from: queue, to: second).run { _ in }
            let (before, after) = (await first.messages, await second.messages)
            let ledger = Set((before[names.ledger] ?? []) + (after[names.ledger] ?? []))
            let work = Set((before[names.apply] ?? []) + (after[names.apply] ?? []))
            let quarantine = Set((before[names.quarantine] ?? []) + (after[names.quarantine] ?? []))
            #expect(ledger == Set((0..<300).map(String.init)))
            #expect(work == Set((290..<300).map(String.init)))
            #expect(quarantine == ["bad"])
            let left = try await queue.counts()
            #expect(left.work == 0 && left.quarantine == 0)
            let third = Broker()
            let nothing = try await QueueMove(from: queue, to: third).run { _ in }
            #expect(nothing == QueueMove.Report())
        }
    }
}
