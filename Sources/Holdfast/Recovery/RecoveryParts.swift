import AppStore
import Broker
import CacheTier
import Consumer
import Entitlements
import Redis
import Runtime

extension LineProcess {
    /// What enters Apple's outages into Redis, whichever process notices them. Made before Apple's health is asked for.
    static func watchingForOutages(
        _ settings: HoldfastSettings, _ apple: AppleClients, _ metrics: Metrics, _ log: Log
    ) throws -> [any Service] {
        guard !apple.stores.isEmpty, settings.recovery.isAutomatic else { return [] }
        let redis = try redis(settings, "outages", metrics, log).link("outages")
        let watch = OutageWatch(log: log) { sighting, notice throws(StoreError) in
            try await RecoveryStore(
                redis: redis, app: sighting.app, environment: sighting.environment, settings: settings.recovery
            ).note(notice)
        }
        let follower = AppleHealthFollower(name: "outages", health: apple.health) { change in
            if let sighting = OutageWatch.Sighting(change) { await watch.noticed(sighting) }
        }
        return [redis, watch, follower]
    }
}

extension HoldfastSettings {
    /// The recoveries and backfills of every app that has a key, in both environments.
    func recoveryStores(_ apple: AppleClients, redis: any RedisCommands) -> [RecoveryStore] {
        apple.stores.sorted { $0.description < $1.description }.map {
            RecoveryStore(redis: redis, app: $0.app, environment: $0.environment, settings: recovery)
        }
    }
}

extension GapWatch {
    /// Of every app that has a key.
    convenience init(
        _ role: RecoveryStore.Role, _ settings: HoldfastSettings, _ apple: AppleClients, redis: any RedisLink,
        _ standings: BackfillStandings, _ log: Log, isThere: @escaping @Sendable () -> Bool = { true }
    ) {
        self.init(
            role, stores: settings.recoveryStores(apple, redis: redis), silence: settings.backfill.silence,
            standings: standings, log: log, isThere: isThere)
    }
}

extension AppleRecovery {
    /// Of every app that has a key, in both environments.
    convenience init(
        _ settings: HoldfastSettings, _ maps: any ProductMapSource, _ verifier: NotificationVerifier,
        _ apple: AppleClients, redis: any RedisLink, publisher: any MessagePublisher, _ standings: BackfillStandings,
        _ metrics: Metrics, _ log: Log
    ) {
        let rules = settings.storeRules(maps)
        let store = LineageStore(redis: redis, settings: settings.store, rules: rules, metrics: metrics)
        let seen = SeenNotifications(redis: redis, settings: settings.recovery)
        var subjects: [Subject] = []
        for app in settings.apps {
            for environment in StoreEnvironment.allCases {
                guard let client = apple.client(for: app.id, environment) else { continue }
                let inquiry = StatusInquiry(client: client, verifier: verifier.verifier, identity: app.identity)
                let jobs = RecoveryStore(
                    redis: redis, app: app.id, environment: environment, settings: settings.recovery)
                let backfill = Backfill(
                    app: app.id, client: client, verifier: verifier, seen: seen, publisher: publisher,
                    names: settings.broker.names, settings: settings.recovery, metrics: metrics, log: log)
                let settling = LineageSettling(
                    app: app.id, environment: environment, redis: redis, store: store,
                    rules: rules[app.id] ?? StoreRules(), publisher: publisher, names: settings.broker.names,
                    settings: settings.recovery, metrics: metrics, log: log,
                    ask: LineageCheck.asking(inquiry, for: .recovery))
                let run = RecoveryRun(
                    jobs: jobs, backfill: backfill,
                    // The reconciler asks about what is due as soon as Apple is there, and nobody need do so twice.
                    settling: settings.reconcile.isAutomatic ? nil : settling, metrics: metrics, log: log)
                let check = RegularCheck(
                    jobs: jobs, backfill: backfill, seen: seen, settings: settings.backfill,
                    lanes: settings.recovery.lanes, standings: standings, log: log)
                subjects.append(
                    Subject(run: run, check: settings.backfill.isRegular ? check : nil) {
                        switch apple.health.health(of: app.id, environment) {
                        case .fine, .notAsked: true
                        case .degraded, .unreachable: false
                        }
                    })
            }
        }
        self.init(
            subjects: subjects, lookEvery: settings.recovery.lookEvery, recovers: settings.recovery.isAutomatic,
            log: log
        ) {
            redis.isConnected && publisher.isConnected
        }
    }
}
