import AppStore
import Broker
import CacheTier
import Consumer
import EmbeddedQueue
import EmbeddedStore
import Entitlements
import Gateway
import HTTP
import JSON
import Redis
import Runtime

/// The parts of one process, made from its settings, in the order in which they start.
struct LineProcess {
    enum Role { case gateway, consumer }

    let services: [any Service]

    init(_ roles: [Role], settings: HoldfastSettings, log: Log) throws {
        try EmbeddedParts.refuse(settings.embedded, roles)
        let metrics = Metrics()
        var settings = settings
        settings.embeddedParts = try EmbeddedParts(settings, metrics: metrics, log: log)
        let verifier = NotificationVerifier(settings.appStore.verifier())
        var products = settings.products
        // Who only applies can do nothing without Redis anyway.
        if !roles.contains(.gateway) { products.folder = nil }
        let mapping = try Self.redis(settings, "product-maps", metrics, log)
        let maps = ProductMaps(
            Dictionary(uniqueKeysWithValues: settings.apps.map { ($0.id, $0.map) }), settings: products,
            redis: mapping, metrics: metrics, log: log)
        let (apple, asking) = try Self.apple(settings, metrics, log)
        let standings = BackfillStandings(metrics: metrics)
        services =
            try settings.embeddedParts.services + [maps] + asking
            + Self.watching(roles, settings, mapping.link("alarms"), verifier, metrics, log)
            + Self.watchingForOutages(settings, apple, metrics, log)
            + roles.flatMap { role in
                switch role {
                case .gateway: try Self.gateway(settings, maps, verifier, apple, standings, metrics, log)
                case .consumer: try Self.consumer(settings, maps, verifier, apple, standings, metrics, log)
                }
            }
    }

    /// The clients for Apple, and all that is to be started for them.
    private static func apple(
        _ settings: HoldfastSettings, _ metrics: Metrics, _ log: Log
    ) throws -> (AppleClients, [any Service]) {
        let apps = settings.apps.map { app in
            AppleClients.App(id: app.id, bundleID: app.identity.bundleID, key: app.serverAPIKey)
        }
        let loop = try EventLoop(name: "app-store-api")
        let redis = try redis(settings, "app-store-budget", metrics, log).link("app-store-budget")
        let budget = settings.appStoreAPI.budget
        let clients = AppleClients(
            apps: apps, settings: settings.appStoreAPI, health: settings.appleHealth,
            http: HTTPClient(settings: settings.appStoreAPI.http, loop: loop),
            budget: CallQueue(
                bucket: SharedCallBucket(redis: redis, settings: budget, metrics: metrics, log: log), settings: budget),
            metrics: metrics, log: log)
        return (clients, clients.stores.isEmpty ? [clients] : [redis, clients])
    }

    private static func gateway(
        _ settings: HoldfastSettings, _ maps: ProductMaps, _ verifier: NotificationVerifier, _ apple: AppleClients,
        _ standings: BackfillStandings, _ metrics: Metrics, _ log: Log
    ) throws -> [any Service] {
        // An embedded store lies on this disk already.
        let snapshot =
            settings.snapshot.isEnabled && settings.embeddedParts.store == nil
            ? try Snapshot(
                settings: settings.snapshot, redis: try redis(settings, "snapshot", metrics, log), metrics: metrics,
                log: log)
            : nil
        let cache = EntitlementCache(
            settings: settings.cache, redis: try redis(settings, "cache", metrics, log), rules: settings.rules,
            maps: maps, snapshot: snapshot,
            storeSource: settings.embeddedParts.store == nil ? .redis : .embedded, metrics: metrics, log: log)
        let redis = try redis(settings, "purchases", metrics, log).link("purchases")
        let rules = settings.storeRules(maps)
        let store = LineageStore(redis: redis, settings: settings.store, rules: rules, metrics: metrics)
        let revocation = try revocation(settings, metrics, log)
        let identities = Dictionary(uniqueKeysWithValues: settings.apps.map { ($0.id, $0.identity) })
        let gaps = GapWatch(.gateway, settings, apple, redis: redis, standings, log)
        let gateway = try Gateway(
            settings: settings.gateway, broker: settings.broker, apps: settings.apps.map(\.id), judge: verifier.judge,
            purchaseJudge: PurchaseVerifier(verifier.verifier).judge(identities, revocation: revocation),
            store: GatewayStore(store, rules: rules) { redis.isConnected }, cache: cache, apple: apple,
            refresh: RefreshSource(apple, verifier: verifier.verifier, identities: identities),
            queue: settings.embeddedParts.queue.map { EmbeddedQueueSink($0) },
            pages: ["/apple": applePage(apple, standings)], turnedAway: gaps.refused, metrics: metrics, log: log)
        let asking: [any Service] = revocation.map { [$0] } ?? []
        let seeding = snapshot.map { snapshot in
            SnapshotSeeding(
                snapshot: snapshot, cache: cache, store: store, apps: Set(settings.apps.map(\.id)),
                maps: { maps.published() }, patience: settings.cache.staleBound, log: log)
        }
        let giving: [any Service] = seeding.map { [$0] } ?? []
        return [cache, redis, gaps] + giving + asking + gateway.services
    }

    /// How Apple does, and whether all that it sent is with us.
    private static func applePage(_ apple: AppleClients, _ standings: BackfillStandings) -> OperationsRoutes.Page {
        { [health = apple.health] in .json(health.page { standings.write($0, to: &$1) }) }
    }

    /// Makes links to the store, on a loop of their own.
    static func redis(
        _ settings: HoldfastSettings, _ name: String, _ metrics: Metrics, _ log: Log
    ) throws -> RedisConnector {
        if let store = settings.embeddedParts.store { return store.connector }
        return settings.redis.connector(loop: try EventLoop(name: name), metrics: metrics, log: log)
    }

    /// Nil when nobody is asked whether certificates are revoked.
    private static func revocation(
        _ settings: HoldfastSettings, _ metrics: Metrics, _ log: Log
    ) throws -> RevocationChecker? {
        guard settings.appStore.revocation.mode != .off else { return nil }
        return RevocationChecker(
            settings: settings.appStore.revocation, loop: try EventLoop(name: "ocsp"), metrics: metrics, log: log)
    }

    private static func consumer(
        _ settings: HoldfastSettings, _ maps: ProductMaps, _ verifier: NotificationVerifier, _ apple: AppleClients,
        _ standings: BackfillStandings, _ metrics: Metrics, _ log: Log
    ) throws -> [any Service] {
        let redis = try redis(settings, "store", metrics, log).link("store")
        let publisher: any MessagePublisher
        var publishing: [any Service] = []
        if let queue = settings.embeddedParts.queue {
            publisher = queue
        } else {
            let broker = try BrokerPublisher(settings: settings.broker, metrics: metrics, log: log)
            publisher = broker
            publishing = [broker]
        }
        let revocation = try revocation(settings, metrics, log)
        var handler = DeliveryHandler(
            apps: Dictionary(
                uniqueKeysWithValues: settings.apps.map { app in
                    (
                        app.id,
                        ConsumerApp(identity: app.identity, policy: app.policy) {
                            maps.current(of: app.id)?.map ?? app.map
                        }
                    )
                }),
            verifier: verifier, revocation: revocation,
            store: LineageStore(
                redis: redis, settings: settings.store, rules: settings.storeRules(maps), metrics: metrics),
            refundRequests: RefundRequests(redis: redis, settings: settings.store), publisher: publisher,
            names: settings.broker.names, settings: settings.consumer, metrics: metrics, log: log)
        handler.unmapped = UnmappedProducts(redis: redis)
        handler.seen = SeenNotifications(redis: redis, settings: settings.recovery)
        handler.drift = DriftNotebook(redis: redis, settings: settings.drift)
        handler.arrivals = ArrivalNotes(Arrivals(redis: redis))
        let recompute = ProductMapRecomputeService(
            policies: Dictionary(uniqueKeysWithValues: settings.apps.map { ($0.id, $0.policy) }),
            settings: Dictionary(
                uniqueKeysWithValues: settings.apps.map { ($0.id, ProductMapDocument(products: $0.map.products)) }),
            recomputer: ProductMapRecomputer(
                redis: redis, settings: settings.products, publisher: publisher, names: settings.broker.names,
                consumer: settings.consumer),
            log: log
        ) { redis.isConnected && publisher.isConnected }
        let events = AppleHealthEvents(
            publisher: publisher, names: settings.broker.names, settings: settings.consumer, metrics: metrics, log: log)
        let consumer: ApplyConsumer
        if let queue = settings.embeddedParts.queue {
            consumer = ApplyConsumer(handler: handler) {
                redis.isConnected && queue.isConnected
            } subscribe: { delivery in
                EmbeddedSubscription(
                    queue: queue, concurrency: settings.embedded.concurrency, log: log, handler: delivery)
            }
        } else {
            consumer = ApplyConsumer(handler: handler, broker: settings.broker, redis: redis, metrics: metrics)
        }
        let operations = HTTPServer(
            settings: settings.consumerOperations, loops: [try EventLoop(name: "operations")],
            handler: OperationsRoutes(
                metrics: metrics, pages: ["/apple": applePage(apple, standings)]
            ) {
                let isRedisConnected = redis.isConnected
                let isBrokerConnected = publisher.isConnected
                return Readiness(
                    isReady: isRedisConnected && isBrokerConnected,
                    parts: ["broker": .bool(isBrokerConnected), "redis": .bool(isRedisConnected)])
            },
            metrics: metrics, log: log.part("operations"))
        let asking: [any Service] = revocation.map { [$0] } ?? []
        let gaps = GapWatch(.consumer, settings, apple, redis: redis, standings, log) {
            redis.isConnected && publisher.isConnected
        }
        let recovery = AppleRecovery(
            settings, maps, verifier, apple, redis: redis, publisher: publisher, standings, metrics, log)
        let reconciling: [any Service] =
            settings.reconcile.isAutomatic
            ? [Reconciler(settings, maps, verifier, apple, redis: redis, publisher: publisher, metrics, log)] : []
        return [operations, redis] + publishing + asking
            + [recompute, events.follower(of: apple.health), consumer, gaps, recovery] + reconciling
            + ScheduleParts.services(settings, maps, redis: redis, publisher: publisher, metrics, log)
    }
}
