import Broker
import CacheTier
import Consumer
import Entitlements
import Redis
import Runtime

/// What a consumer does by the clock beside asking Apple.
enum ScheduleParts {
    static func services(
        _ settings: HoldfastSettings, _ maps: any ProductMapSource, redis: any RedisLink,
        publisher: any MessagePublisher, _ metrics: Metrics, _ log: Log
    ) -> [any Service] {
        let rules = settings.storeRules(maps)
        let isReady: @Sendable () -> Bool = { redis.isConnected && publisher.isConnected }
        let filling = ScheduleFillingService(
            apps: settings.apps.map { app in
                ScheduleFilling(redis: redis, app: app.id, rules: rules[app.id] ?? StoreRules())
            }, log: log, isReady: isReady)
        guard settings.reconcile.reminds, settings.consumer.publishEvents else { return [filling] }
        let books = settings.apps.flatMap { app in
            StoreEnvironment.allCases.map { environment in
                ReminderBook(
                    redis: redis, app: app.id, environment: environment, rules: rules[app.id] ?? StoreRules(),
                    metrics: metrics, log: log)
            }
        }
        return [
            filling,
            ReminderService(
                books: books, publisher: publisher, names: settings.broker.names,
                lookEvery: settings.reconcile.lookEvery * 5, metrics: metrics, log: log, isReady: isReady),
        ]
    }
}
