import AppStore
import Broker
import CacheTier
import Consumer
import Entitlements
import Redis
import Runtime

extension Reconciler {
    /// Of every app that has a key, in both environments.
    convenience init(
        _ settings: HoldfastSettings, _ maps: any ProductMapSource, _ verifier: NotificationVerifier,
        _ apple: AppleClients, redis: any RedisLink, publisher: any MessagePublisher, _ metrics: Metrics, _ log: Log
    ) {
        let rules = settings.storeRules(maps)
        let store = LineageStore(redis: redis, settings: settings.store, rules: rules, metrics: metrics)
        let seen = SeenNotifications(redis: redis, settings: settings.recovery)
        let drifts = DriftStore(redis: redis, settings: settings.drift)
        var runs: [ReconcileRun] = []
        for app in settings.apps {
            for environment in StoreEnvironment.allCases {
                guard let client = apple.client(for: app.id, environment) else { continue }
                let inquiry = StatusInquiry(client: client, verifier: verifier.verifier, identity: app.identity)
                let drift = DriftExamination(
                    app: app.id, environment: environment, store: drifts, seen: seen, publisher: publisher,
                    names: settings.broker.names, publishesEvents: settings.consumer.publishEvents, metrics: metrics,
                    log: log,
                    history: DriftExamination.asking(client, verifier: verifier, identity: app.identity))
                runs.append(
                    ReconcileRun(
                        due: DueWork(
                            redis: redis, app: app.id, environment: environment, metrics: metrics, log: log),
                        store: store,
                        rules: rules[app.id] ?? StoreRules(), publisher: publisher, names: settings.broker.names,
                        drift: drift, metrics: metrics, log: log,
                        health: { [health = apple.health] in health.health(of: app.id, environment) },
                        isKeyRefused: { [health = apple.health] in
                            // Without probes nobody but these checks notices that it is taken again.
                            health.settings.probes && health.isKeyRefused(of: app.id, environment)
                        },
                        ask: LineageCheck.asking(inquiry, for: .reconcile)))
            }
        }
        self.init(runs: runs, settings: settings.reconcile, log: log) {
            redis.isConnected && publisher.isConnected
        }
    }
}
