import AppStore
import Broker
import CacheTier
import Consumer
import Entitlements
import JSON
import Redis
import Replay
import Runtime
import TestSupport
import Time

/// A ledger and a Redis of one test's own, a consumer between them, and settings for `holdfast replay`.
struct Stage: Sendable {
    static let app = AppID("demo")

    let broker: BrokerSettings
    let inspector: BrokerInspector
    let publisher: BrokerPublisher
    let server: RedisServer
    let redis: RedisClient
    let store: LineageStore
    let folder: TemporaryFolder
    let metrics = Metrics()
    private let loop: EventLoop

    static func with(
        _ adjust: (inout BrokerSettings) -> Void = { _ in }, _ body: (Stage) async throws -> Void
    ) async throws {
        let rabbit = try await RabbitMQServer.shared()
        try await RedisServer.withOwn { server in
            let stage = try await Stage(rabbit, server, adjust)
            do { try await body(stage) } catch {
                try await stage.end()
                throw error
            }
            try await stage.end()
        }
    }

    private init(_ rabbit: RabbitMQServer, _ server: RedisServer, _ adjust: (inout BrokerSettings) -> Void) async throws
    {
        var broker = BrokerSettings(rabbit, prefix: RabbitMQServer.uniquePrefix("replay"))
        adjust(&broker)
        self.broker = broker
        self.server = server
        inspector = BrokerInspector(patient: broker)
        publisher = try BrokerPublisher(settings: broker, metrics: metrics, log: .discarding)
        var settings = RedisSettings()
        settings.host = server.host
        settings.port = server.port
        settings.commandTimeout = .seconds(30)
        loop = try EventLoop(name: "replay-tests")
        redis = RedisClient(name: "replay-tests", settings: settings, loop: loop)
        store = LineageStore(redis: redis)
        folder = try TemporaryFolder("replay")
        try await publisher.start()
        await redis.start()
        try folder.write(try Forge.authority.get().rootDER, to: "root.der")
        try folder.write(
            """
            {
                "apps": { "demo": {
                    "bundleId": "\(Forge.identity.bundleID)", "appAppleId": \(Forge.identity.appAppleID ?? 0),
                    "products": { "pro.month": { "entitlements": ["pro"], "group": "main", "level": 1 } }
                } },
                "appStore": { "roots": ["\(folder.file("root.der"))"] },
                "broker": {
                    "port": \(broker.port), "prefix": "\(broker.prefix)",
                    "ledgerMaximumBytes": \(broker.ledgerMaximumBytes), "ledgerSegmentBytes": \(broker.ledgerSegmentBytes)
                },
                "redis": { "port": \(server.port) },
                "spool": { "folder": "\(folder.file("spool"))" }
            }
            """, to: "holdfast.json")
    }

    private func end() async throws {
        await publisher.drain()
        await redis.drain()
        loop.stop()
        try await inspector.deleteTopology()
    }

    // MARK: The line

    /// Publishes as the gateway does.
    func send(
        _ body: [UInt8], app: String = "demo", receivedAt: Timestamp = Forge.now, headers: [String: String] = [:]
    ) async throws {
        var message = BrokerMessage(
            body: body,
            headers: [
                MessageHeader.app: app, MessageHeader.environment: "production", MessageHeader.correlation: "c",
                MessageHeader.receivedAt: receivedAt.rfc3339,
            ], messageID: "m-\(UInt64.random(in: .min ... .max))", contentType: "application/json",
            timestamp: receivedAt)
        for (name, value) in headers { message.headers[name] = value }
        try await publisher.publish(message, to: broker.names.intake)
    }

    /// One notification for each of `count` lineages; those with even numbers name a customer.
    func sendLineages(_ count: Int) async throws {
        let bodies = try (0..<count).map { number in
            try Forge.notification(lineage: "\(number)", token: number % 2 == 0 ? Self.customer(number) : nil)
        }
        try await withThrowingTaskGroup { group in
            for body in bodies { group.addTask { try await self.send(body) } }
            try await group.waitForAll()
        }
    }

    static func customer(_ number: Int) -> String {
        let digits = "\(number)"
        return "0b0efcb7-5f4e-4e0c-8f2c-\(String(repeating: "0", count: 12 - digits.count))\(digits)"
    }

    static func lineage(_ id: String) -> LineageID {
        LineageID(app: app, environment: .production, originalTransactionID: id)
    }

    static func verifier() throws -> NotificationVerifier {
        NotificationVerifier(JWSVerifier(roots: try TrustedRoots(der: [try Forge.authority.get().rootDER])))
    }

    static func decoder() throws -> MessageDecoder {
        MessageDecoder(apps: [app: ConsumerApp(identity: Forge.identity)], verifier: try verifier())
    }

    /// Lets a consumer, for which it is `now`, work until it has settled `count` messages.
    func consume(_ count: Int, at now: Timestamp = Forge.now) async throws {
        let handler = DeliveryHandler(
            apps: [Self.app: ConsumerApp(identity: Forge.identity)], verifier: try Self.verifier(), store: store,
            refundRequests: RefundRequests(redis: redis),
            publisher: publisher, names: broker.names, metrics: metrics, clock: WallClock { now },
            log: .discarding)
        let consumer = ApplyConsumer(handler: handler, broker: broker, redis: redis, metrics: metrics)
        let before = settled
        try await consumer.start()
        let isDone = try await eventually(within: .seconds(60)) { settled >= before + UInt64(count) }
        await consumer.drain()
        guard isDone else { throw CommandError("the consumer settled \(settled - before) of \(count)") }
    }

    private var settled: UInt64 {
        ["applied", "unchanged", "noted", "quarantined"].map { outcome in
            metrics.counter("holdfast_consumer_deliveries_total", "", labels: ["outcome": outcome]).value
        }.reduce(0, +)
    }

    /// The canonical records of the first `count` lineages, and who has them.
    func records(_ count: Int) async throws -> [String: String] {
        var records: [String: String] = [:]
        for number in 0..<count {
            guard let found = try await store.find(Self.lineage("\(number)")) else { continue }
            records["\(number)"] = "\(found.holders) \(String(decoding: found.record.encoded(), as: UTF8.self))"
        }
        return records
    }

    /// Writes into the live state what the ledger does not have.
    func plant(_ observation: Observation) async throws {
        let change = try await store.apply(observation, cause: .other, at: Forge.now)
        guard change.changed else { throw CommandError("nothing was planted") }
    }

    // MARK: The command

    func replay(_ arguments: String...) async throws -> Command.Result {
        try await Command.run(
            try ChildProcess.product("holdfast"), ["replay", "--settings", folder.file("holdfast.json")] + arguments)
    }

    func replayJSON(_ arguments: String...) async throws -> (status: Int32, json: JSONValue) {
        let result = try await Command.run(
            try ChildProcess.product("holdfast"),
            ["replay", "--settings", folder.file("holdfast.json"), "--json"] + arguments)
        guard let json = try? JSONValue.parse(Array(result.output.utf8)) else {
            throw CommandError("\(result.status): \(result.output)")
        }
        return (result.status, json)
    }
}
