import AppStore
import Broker
import CacheTier
import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Time

@testable import Consumer

/// Everything around a consumer, on real servers, under names that no other test uses.
struct Stage: Sendable {
    let broker: BrokerSettings
    let inspector: BrokerInspector
    let publisher: BrokerPublisher
    let redis: RedisClient
    let redisSettings: RedisSettings
    let store: LineageStore
    let metrics = Metrics()
    let app = RedisServer.uniqueApp("consumer")
    private let loop: EventLoop

    static func with(
        rabbit: RabbitMQServer? = nil, redis server: RedisServer? = nil, prefetch: Int = 16,
        _ body: (Stage) async throws -> Void
    ) async throws {
        let stage = try await Stage(rabbit, server, prefetch)
        do { try await body(stage) } catch {
            try await stage.end()
            throw error
        }
        try await stage.end()
    }

    private init(_ rabbit: RabbitMQServer?, _ server: RedisServer?, _ prefetch: Int) async throws {
        let rabbit = if let rabbit { rabbit } else { try await RabbitMQServer.shared() }
        let server = if let server { server } else { try await RedisServer.shared() }
        var broker = BrokerSettings(rabbit, prefix: RabbitMQServer.uniquePrefix("consumer"))
        // Some kill the server.
        broker.topologySettleTime = BrokerSettings().topologySettleTime
        broker.prefetch = prefetch
        var settings = RedisSettings()
        settings.host = server.host
        settings.port = server.port
        settings.commandTimeout = .seconds(30)
        settings.reconnectDelay = .milliseconds(200)
        self.broker = broker
        inspector = BrokerInspector(patient: broker)
        publisher = try BrokerPublisher(settings: broker, metrics: metrics, log: .discarding)
        loop = try EventLoop(name: "consumer-tests")
        redisSettings = settings
        redis = RedisClient(name: "consumer-tests", settings: settings, loop: loop)
        store = LineageStore(redis: redis)
        try await publisher.start()
        await redis.start()
    }

    private func end() async throws {
        await publisher.drain()
        await redis.drain()
        loop.stop()
        try await inspector.deleteTopology()
    }

    func consumer(
        apps: [String]? = nil, store: (any ObservationStore)? = nil, log: Log = .discarding,
        authority: CertificateAuthority? = nil, revocation: RevocationChecker? = nil
    ) throws -> ApplyConsumer {
        var settings = ConsumerSettings()
        settings.rest = .milliseconds(50)
        let handler = DeliveryHandler(
            apps: Dictionary(
                uniqueKeysWithValues: (apps ?? [app]).map { (AppID($0), ConsumerApp(identity: Forge.identity)) }),
            verifier: try Forge.verifier(authority), revocation: revocation, store: store ?? self.store,
            publisher: publisher, names: broker.names,
            settings: settings, metrics: metrics, clock: WallClock { Forge.now }, log: log)
        return ApplyConsumer(handler: handler, broker: broker, redis: redis, metrics: metrics)
    }

    /// As intake would: what cannot be handed over at this moment, since the machine is busy, is handed over later.
    func send(_ body: [UInt8], app: String? = nil) async throws {
        let message = BrokerMessage(
            body: body, headers: [MessageHeader.app: app ?? self.app, MessageHeader.correlation: "c"])
        for _ in 0..<5 {
            do throws(BrokerError) {
                return try await publisher.publish(message, to: broker.names.intake)
            } catch { guard error.code == .unreachable else { throw error } }
            _ = try await eventually { publisher.isConnected }
        }
        try await publisher.publish(message, to: broker.names.intake)
    }

    /// Publishes one notification for each of `count` lineages, `copies` times, all at once.
    func sendLineages(_ count: Int, copies: Int = 1) async throws {
        let bodies = try (0..<count).map { try Forge.notification(lineage: "\($0)") }
        try await withThrowingTaskGroup { group in
            for body in Array(repeating: bodies, count: copies).joined() {
                group.addTask { try await self.send(body) }
            }
            try await group.waitForAll()
        }
    }

    /// How many of the first `count` lineages are in Redis.
    func applied(_ count: Int) async throws -> Int {
        var found = 0
        for number in 0..<count {
            let lineage = LineageID(app: AppID(app), environment: .sandbox, originalTransactionID: "\(number)")
            let nothing = Observation(lineage: lineage, source: .notification, signedDate: Forge.now)
            if try await store.apply(nothing, cause: .other, at: nothing.signedDate).before?.transactions.count == 1 {
                found += 1
            }
        }
        return found
    }

    func count(_ outcome: String) -> UInt64 {
        metrics.counter("holdfast_consumer_deliveries_total", "", labels: ["outcome": outcome]).value
    }

    var isResting: Bool { metrics.gauge("holdfast_consumer_resting", "").value == 1 }

    /// Messages ready in the queues that hold work.
    func waiting() async throws -> Int {
        var count = try await inspector.messageCount(of: broker.names.apply)
        for level in RetryLevel.allCases { count += try await inspector.messageCount(of: broker.names.retry(level)) }
        return count
    }
}

/// Holds every call until it is let go.
final class GatedStore: ObservationStore {
    private let store: LineageStore
    private let state = Mutex<(isOpen: Bool, held: [CheckedContinuation<Void, Never>])>((false, []))

    init(_ store: LineageStore) { self.store = store }

    var held: Int { state.withLock { $0.held.count } }

    func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    func prepare() async throws(StoreError) { try await store.prepare() }

    func takeIn(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> PurchaseDecision {
        try await store.takeIn(lineage, for: customer, at: instant, isForced: isForced)
    }

    func apply(
        _ observation: Observation, cause: TransitionCause, at now: Timestamp
    ) async throws(StoreError) -> AppliedChange {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.held.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
        return try await store.apply(observation, cause: cause, at: now)
    }
}
