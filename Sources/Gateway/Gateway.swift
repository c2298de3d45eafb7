package import AppStore
package import Broker
package import CacheTier
package import Entitlements
package import HTTP
internal import JSON
package import Runtime

/// The gateway, put together: takes in notifications, answers reads, drains the spool.
package struct Gateway: Sendable {
    /// In the order in which they start; drained in reverse, so that what is open is answered while all still works.
    package let services: [any Service]
    /// For Apple and backends.
    package let server: HTTPServer
    /// For operators.
    package let operations: HTTPServer
    package let spool: Spool

    /// `judge` comes from a `NotificationVerifier`, `purchaseJudge` from a `PurchaseVerifier`. `cache` and what `store` is
    /// made of are services of the process, which others may share, `apple` too: start them before these. `refresh` is whom
    /// reads ask that want Apple to be asked; `queue` takes RabbitMQ's place, if it is given. `pages` are added to the
    /// operators' listener, and `turnedAway` hears of what Apple was not told 2xx for.
    package init(
        settings: GatewaySettings, broker: BrokerSettings, apps: [AppID], judge: @escaping IntakeJudge,
        purchaseJudge: @escaping PurchaseJudge, store: GatewayStore, cache: EntitlementCache,
        apple: AppleClients? = nil, refresh: RefreshSource = .none, queue: (any MessageSink)? = nil,
        pages: [String: OperationsRoutes.Page] = [:],
        turnedAway: @escaping NotificationIntake.TurnedAway = { _, _, _ in },
        clock: WallClock = .system, metrics: Metrics, log: Log
    ) throws(SystemError) {
        var broker = broker
        broker.confirmTimeout = settings.brokerLimit
        var publishers: [any Service] = []
        let sink: any MessageSink
        if let queue {
            sink = queue
        } else {
            let publisher = try BrokerPublisher(settings: broker, metrics: metrics, log: log)
            publishers = [publisher]
            sink = BrokerSink(publisher, names: broker.names)
        }
        let spool = try Spool(settings: settings.spool, metrics: metrics, log: log.part("spool"))
        let drainer = SpoolDrainer(
            spool: spool, sink: sink, window: settings.spool.drainWindow, metrics: metrics,
            log: log.part("spool-drainer"))
        let durable = IntakeStore(broker: sink, spool: SpoolSink(spool), log: log.part("intake"))
        let intake = NotificationIntake(
            apps: apps, judge: judge, store: durable, turnedAway: turnedAway, clock: clock, metrics: metrics,
            log: log.part("intake"))

        let keys = BearerKeys(settings.keys)
        let refresher = Refresher(
            source: refresh, durable: durable, settings: settings.refresh, clock: clock, metrics: metrics,
            log: log.part("refresh"))
        let reads = EntitlementRoutes(
            cache: cache, refresher: refresher, rules: store.rules, keys: keys, apps: apps,
            maximumAge: settings.readMaximumAge, clock: clock, metrics: metrics,
            log: log.part("reads"))
        let explanations = ExplanationRoutes(
            cache: cache, archive: store.archive, keys: keys, apps: apps, limit: settings.claimLimit, clock: clock,
            log: log.part("explanations"))

        let purchases = PurchaseRoutes(
            intake: PurchaseIntake(
                store: store.purchases, durable: durable, patience: settings.claimLimit, clock: clock,
                log: log.part("purchases")),
            judge: purchaseJudge, cache: cache, keys: keys, apps: apps, bodyBytes: settings.purchaseBodyBytes,
            readLimit: settings.claimLimit, clock: clock, metrics: metrics, log: log.part("purchases"))
        let lineages = LineageRoutes(
            archive: store.archive, cache: cache, keys: keys, apps: apps, rules: store.rules,
            limit: settings.claimLimit,
            clock: clock, log: log.part("lineages"))

        var loops: [EventLoop] = []
        for number in 0..<settings.loops { loops.append(try EventLoop(name: "http-\(number)")) }
        server = HTTPServer(
            settings: settings.http, loops: loops,
            handler: GatewayRoutes(
                intake: intake, reads: reads, explanations: explanations, purchases: purchases, lineages: lineages,
                intakeBodyBytes: settings.intakeBodyBytes),
            metrics: metrics, log: log.part("http"))
        var standard: [String: OperationsRoutes.Page] = [
            "/refused": { [samples = intake.samples] in .json(samples.json) }
        ]
        if let apple { standard["/apple"] = { [health = apple.health] in .json(health.json) } }
        operations = HTTPServer(
            settings: settings.operations, loops: Array(loops.prefix(1)),
            handler: OperationsRoutes(
                metrics: metrics, pages: standard.merging(pages) { _, added in added }
            ) {
                let isBrokerHealthy = sink.isHealthy
                let hasSpoolRoom = spool.hasRoom
                // Notifications can be acknowledged. Reads are answered as well as can be in any case.
                return Readiness(
                    isReady: isBrokerHealthy || hasSpoolRoom,
                    parts: [
                        "broker": .bool(isBrokerHealthy), "spool": .bool(hasSpoolRoom),
                        "spooledRecords": .number(JSONNumber(Int64(clamping: spool.pending))),
                        "store": .bool(cache.isLive),
                    ])
            },
            metrics: metrics, log: log.part("operations"))
        self.spool = spool
        let levels = apple.map { apple in
            AppleHealthFollower(name: "apple-levels", health: apple.health) { [cache] change in
                cache.report(change.to, for: change.app, change.environment)
            }
        }
        services = (levels.map { [$0] } ?? []) + [spool] + publishers + [drainer, operations, server]
    }
}
