import AppStore
import Broker
import CacheTier
import Entitlements
import Gateway
import HTTP
import JSON
import Redis
import Runtime
import TestSupport
import Time

@testable import Consumer

/// A gateway on real servers, on a clock set by hand; consumers beside it come and go.
final class OutageLine: Sendable {
    private static let secret = "outage-outage-outage"
    static let map = ProductMap(
        version: "1",
        products: [
            "demo.premium.monthly": ProductMap.Product(entitlements: ["premium"]),
            "demo.premium.yearly": ProductMap.Product(entitlements: ["premium"]),
            "demo.basic.monthly": ProductMap.Product(entitlements: ["basic"]),
        ])

    let stage: Stage
    let clock: HandSetClock
    let recovery: RecoverySettings
    private let gateway: Gateway
    private let client: HTTPClient

    var app: AppID { AppID(stage.app) }
    var notificationURL: String { "http://127.0.0.1:\(gateway.server.boundPort)/apple/\(stage.app)/production" }
    var jobs: RecoveryStore {
        RecoveryStore(
            redis: stage.redis, app: app, environment: .production, settings: recovery, clock: clock.wall,
            leaseTime: .seconds(5))
    }

    static func with(
        clock: HandSetClock, verifier: NotificationVerifier, _ body: (OutageLine) async throws -> Void
    ) async throws {
        try await Stage.with { stage in
            let folder = try TemporaryFolder("outage")
            var settings = GatewaySettings(spool: SpoolSettings(folder: folder.file("spool"), segmentBytes: 4 << 20))
            settings.http.address = "127.0.0.1:0"
            settings.operations.address = "127.0.0.1:0"
            settings.keys = [BearerKey(name: "backend", key: secret, scopes: [.read])]
            let app = AppID(stage.app)
            let loop = try EventLoop(name: "outage")
            let cache = EntitlementCache(
                settings: CacheSettings(), redis: stage.redisSettings.connector(loop: loop),
                rules: [app: AppRules(products: map)], metrics: Metrics(), log: .discarding, clock: clock.wall)
            let gateway = try Gateway(
                settings: settings, broker: stage.broker, apps: [app], judge: verifier.judge,
                purchaseJudge: PurchaseVerifier(verifier.verifier).judge([app: SimulatedApple.identity]),
                store: GatewayStore(stage.store, rules: [:]) { [redis = stage.redis] in redis.isConnected },
                cache: cache, clock: clock.wall, metrics: Metrics(), log: .discarding)
            let services: [any Service] = [cache] + gateway.services
            for service in services { try await service.start() }
            let client = HTTPClient(loop: loop)
            let result: Result<Void, any Error>
            do { result = .success(try await body(OutageLine(stage, clock, gateway, client))) } catch {
                result = .failure(error)
            }
            await client.close()
            for service in services.reversed() { await service.drain() }
            loop.stop()
            try result.get()
        }
    }

    private init(_ stage: Stage, _ clock: HandSetClock, _ gateway: Gateway, _ client: HTTPClient) {
        self.stage = stage
        self.clock = clock
        self.gateway = gateway
        self.client = client
        var settings = RecoverySettings()
        settings.lookEvery = .milliseconds(100)
        recovery = settings
    }

    /// What a read of a customer answers.
    func read(_ customer: String) async throws -> JSONValue {
        let response = try await client.send(
            HTTPClientRequest(
                .get,
                "http://127.0.0.1:\(gateway.server.boundPort)/v1/apps/\(stage.app)/customers/\(customer)/entitlements",
                headers: ["Authorization": "Bearer \(Self.secret)"]))
        guard response.status == 200 else {
            throw CommandError("\(response.status): \(String(decoding: response.body, as: UTF8.self))")
        }
        return try JSONValue.parse(response.body)
    }

    /// The entitlements that a read says are active.
    func active(_ customer: String) async throws -> Set<String> {
        let entitlements = try await read(customer)["entitlements"]?.array ?? []
        return Set(entitlements.filter { $0["active"]?.bool == true }.compactMap { $0["id"]?.string })
    }

    // MARK: Processes

    /// The parts of a process that ask Apple.
    func clients(of apple: SimulatedApple, loop: EventLoop) -> AppleClients {
        var settings = ServerAPISettings()
        settings.productionURL = apple.url
        settings.sandboxURL = "http://127.0.0.1:1"
        settings.http.totalTimeout = .seconds(30)
        var health = AppleHealthSettings()
        health.slowAfter = .seconds(30)
        health.calm = .milliseconds(100)
        health.goodCalls = 2
        health.probeEvery = .milliseconds(200)
        health.probeAgain = .milliseconds(100)
        return AppleClients(
            apps: [AppleClients.App(id: app, bundleID: apple.client.bundleID, key: apple.key)], settings: settings,
            health: health, http: HTTPClient(settings: settings.http, loop: loop), budget: UnlimitedCalls(),
            clock: clock.wall)
    }

    /// What any process does that notices outages.
    func watch(_ apple: AppleClients) -> [any Service] {
        let watch = OutageWatch(pulse: .milliseconds(100), clock: clock.wall, log: .discarding) {
            [self] sighting, notice throws(StoreError) in
            // Nobody listens at the sandbox's address: that is no outage of this test's.
            if sighting.environment == .production { try await jobs.note(notice) }
        }
        let follower = AppleHealthFollower(name: "outages", health: apple.health) { change in
            if let sighting = OutageWatch.Sighting(change) { await watch.noticed(sighting) }
        }
        return [watch, follower]
    }

    func consumer(_ verifier: NotificationVerifier) -> ApplyConsumer {
        let map = Self.map
        var handler = DeliveryHandler(
            apps: [app: ConsumerApp(identity: SimulatedApple.identity, map: map)], verifier: verifier,
            store: stage.store, publisher: stage.publisher, names: stage.broker.names, metrics: stage.metrics,
            clock: clock.wall, log: .discarding)
        handler.seen = SeenNotifications(redis: stage.redis, settings: recovery, clock: clock.wall)
        handler.drift = DriftNotebook(redis: stage.redis)
        return ApplyConsumer(handler: handler, broker: stage.broker, redis: stage.redis, metrics: stage.metrics)
    }

    func run(_ client: ServerAPIClient, _ verifier: NotificationVerifier, log: Log = .discarding) -> RecoveryRun {
        let map = Self.map
        let inquiry = StatusInquiry(
            client: client, verifier: verifier.verifier, identity: SimulatedApple.identity, clock: clock.wall)
        return RecoveryRun(
            jobs: jobs,
            backfill: Backfill(
                app: app, client: client, verifier: verifier,
                seen: SeenNotifications(redis: stage.redis, settings: recovery, clock: clock.wall),
                publisher: stage.publisher, names: stage.broker.names, settings: recovery, clock: clock.wall),
            settling: LineageSettling(
                app: app, environment: .production, redis: stage.redis, store: stage.store,
                rules: StoreRules { map }, publisher: stage.publisher, names: stage.broker.names, settings: recovery,
                clock: clock.wall, log: log, ask: LineageCheck.asking(inquiry, for: .recovery)),
            clock: clock.wall, log: log)
    }

    func recovery(
        _ apple: AppleClients, _ verifier: NotificationVerifier, log: Log = .discarding
    ) -> AppleRecovery {
        guard let client = apple.client(for: app, .production) else {
            return AppleRecovery(subjects: [], lookEvery: recovery.lookEvery, log: log) { false }
        }
        let subject = AppleRecovery.Subject(run: run(client, verifier, log: log)) { [app] in
            apple.health.health(of: app, .production) == .fine
        }
        return AppleRecovery(subjects: [subject], lookEvery: recovery.lookEvery, log: log) { [stage] in
            stage.redis.isConnected && stage.publisher.isConnected
        }
    }

    // MARK: Reconciliation

    var due: DueWork { DueWork(redis: stage.redis, app: app, environment: .production, clock: clock.wall) }

    func drifts(limit: Int) async throws -> [Drift] {
        try await DriftStore(redis: stage.redis).list(app, .production, limit: limit)
    }

    /// By a client that knows nothing of Apple's health, or by `apple`'s.
    func reconciler(
        _ client: ServerAPIClient, _ verifier: NotificationVerifier, log: Log = .discarding,
        health: @escaping @Sendable () -> AppleHealth = { .fine }
    ) -> Reconciler {
        let map = Self.map
        var settings = ReconcileSettings()
        settings.lookEvery = .milliseconds(100)
        settings.lanes = 4
        let inquiry = StatusInquiry(
            client: client, verifier: verifier.verifier, identity: SimulatedApple.identity, clock: clock.wall)
        let drift = DriftExamination(
            app: app, environment: .production, store: DriftStore(redis: stage.redis),
            seen: SeenNotifications(redis: stage.redis, settings: recovery, clock: clock.wall),
            publisher: stage.publisher, names: stage.broker.names, clock: clock.wall, log: log,
            history: DriftExamination.asking(
                client, verifier: verifier, identity: SimulatedApple.identity, clock: clock.wall))
        let run = ReconcileRun(
            due: due, store: stage.store, rules: StoreRules { map },
            publisher: stage.publisher, names: stage.broker.names, drift: drift, clock: clock.wall, log: log,
            health: health, ask: LineageCheck.asking(inquiry, for: .reconcile))
        return Reconciler(runs: [run], settings: settings, log: log) { [stage] in
            stage.redis.isConnected && stage.publisher.isConnected
        }
    }

    func reconciler(
        _ apple: AppleClients, _ verifier: NotificationVerifier, log: Log = .discarding
    ) -> Reconciler {
        guard let client = apple.client(for: app, .production) else {
            return Reconciler(runs: [], settings: ReconcileSettings(), log: log) { false }
        }
        return reconciler(client, verifier, log: log) { [app] in apple.health.health(of: app, .production) }
    }
}
