import AppStore
import Broker
import CacheTier
import Entitlements
import HTTP
import Redis
import Runtime
import TestSupport

@testable import Gateway

/// A whole gateway with its own spool and listeners, before a RabbitMQ of the tests.
struct RunningGateway {
    let gateway: Gateway
    let broker: BrokerSettings
    let metrics: Metrics
    let folder: TemporaryFolder
    let client: HTTPClient
    let redis: RedisSettings

    var inspector: BrokerInspector { BrokerInspector(patient: broker) }
    var spool: Spool { gateway.spool }

    func counter(_ name: String, _ labels: Metrics.Labels) -> UInt64 { metrics.counter(name, "", labels: labels).value }

    func post(
        _ body: [UInt8], to path: String = "/apple/demo/sandbox", headers: HTTPHeaders = HTTPHeaders()
    ) async throws -> HTTPClientResponse {
        try await client.send(
            HTTPClientRequest(
                .post, "http://127.0.0.1:\(gateway.server.boundPort)\(path)", headers: headers, body: body))
    }

    func get(_ path: String, headers: HTTPHeaders = HTTPHeaders()) async throws -> HTTPClientResponse {
        try await client.send(
            HTTPClientRequest(.get, "http://127.0.0.1:\(gateway.server.boundPort)\(path)", headers: headers))
    }

    func operations(_ path: String) async throws -> HTTPClientResponse {
        try await client.send(HTTPClientRequest(.get, "http://127.0.0.1:\(gateway.operations.boundPort)\(path)"))
    }

    /// Everything in the work queue, taken out, as the notifications' UUIDs.
    func takeApplied() async throws -> [BrokerDelivery] {
        try await inspector.take(broker.names.apply, limit: 100_000)
    }
}

/// Runs a gateway for the time of `body`, and stops it in order, `apple` too. Without a server of a kind it finds nobody
/// there.
func withGateway(
    _ server: RabbitMQServer? = nil, redis redisServer: RedisServer? = nil, rules: [AppID: AppRules] = [:],
    refresh: RefreshSource = .none, maps: (any ProductMapSource)? = nil, clock: WallClock = .system,
    apple: AppleClients? = nil, liveFor: Duration = CacheSettings().liveFor, judge: IntakeJudge? = nil,
    _ adjust: (inout GatewaySettings, inout BrokerSettings) -> Void = { _, _ in },
    _ body: (RunningGateway) async throws -> Void
) async throws {
    let folder = try TemporaryFolder("gateway")
    var settings = GatewaySettings(spool: SpoolSettings(folder: folder.file("spool"), segmentBytes: 1 << 20))
    settings.http.address = "127.0.0.1:0"
    settings.operations.address = "127.0.0.1:0"
    var broker = BrokerSettings()
    broker.host = "127.0.0.1"
    broker.port = server?.port ?? 1
    broker.prefix = RabbitMQServer.uniquePrefix("gateway")
    broker.ledgerMaximumBytes = 64 << 20
    broker.ledgerSegmentBytes = 4 << 20
    broker.reconnectMaximum = .milliseconds(300)
    adjust(&settings, &broker)
    var redis = RedisSettings()
    redis.port = redisServer?.port ?? 1
    redis.reconnectDelay = .milliseconds(100)

    let metrics = Metrics()
    let loop = try EventLoop(name: "client")
    var cacheSettings = CacheSettings()
    cacheSettings.liveFor = liveFor
    let cache = EntitlementCache(
        settings: cacheSettings, redis: redis.connector(loop: loop, metrics: metrics), rules: rules, maps: maps,
        metrics: metrics, log: .discarding, clock: clock)
    let store = RedisClient(name: "purchases", settings: redis, loop: loop)
    let storeRules = rules.mapValues { rules in StoreRules(evaluation: rules.policy) { rules.products } }
    let identities = Dictionary(
        uniqueKeysWithValues: (["demo", "other"].map { AppID($0) } + rules.keys).map { ($0, Sender.identity) })
    let gateway = try Gateway(
        settings: settings, broker: broker, apps: ["demo", "other"].map { AppID($0) } + rules.keys,
        judge: judge ?? Sender.trusted.get().judge,
        purchaseJudge: try Sender.trusted.get().purchases.judge(identities),
        store: GatewayStore(LineageStore(redis: store, rules: storeRules), rules: storeRules) { store.isConnected },
        cache: cache, apple: apple, refresh: refresh, clock: clock, metrics: metrics, log: .discarding)
    // Busy machines are slow; what is about a deadline measures it.
    let client = HTTPClient(
        settings: HTTPClientSettings(connectTimeout: .seconds(60), totalTimeout: .seconds(120)), loop: loop)
    let services: [any Service] = [cache, store] + (apple.map { [$0] } ?? []) + gateway.services
    for service in services { try await service.start() }
    let running = RunningGateway(
        gateway: gateway, broker: broker, metrics: metrics, folder: folder, client: client, redis: redis)
    let result: Result<Void, any Error>
    do {
        try await body(running)
        result = .success(())
    } catch {
        result = .failure(error)
    }
    await client.close()
    for service in services.reversed() { await service.drain() }
    loop.stop()
    try result.get()
}
