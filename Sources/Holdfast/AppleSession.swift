import AppStore
import Broker
import CacheTier
import Consumer
import EmbeddedQueue
import EmbeddedStore
import Entitlements
import HTTP
import Redis
import Runtime

/// What a command at a terminal asks Apple with, and sends through the line what Apple says: one app in one environment,
/// within the shared call budget.
struct AppleSession {
    let client: ServerAPIClient
    let publisher: any MessagePublisher
    let metrics: Metrics

    /// Runs `body` while there is a publisher. Throws when the app has no key.
    static func with<Value>(
        _ settings: HoldfastSettings, _ app: AppSettings, _ environment: StoreEnvironment,
        redis: any RedisCommands, loop: EventLoop, log: Log, _ body: (AppleSession) async throws -> Value
    ) async throws -> Value {
        let key = try app.requiredKey()
        let metrics = Metrics()
        let http = HTTPClient(settings: settings.appStoreAPI.http, loop: loop)
        let budget = CallQueue(
            bucket: SharedCallBucket(
                redis: redis, settings: settings.appStoreAPI.budget, metrics: metrics, log: .discarding),
            settings: settings.appStoreAPI.budget)
        let client = ServerAPIClient(
            bundleID: app.identity.bundleID, environment: environment, key: key, settings: settings.appStoreAPI,
            http: http, budget: budget, metrics: metrics, log: log)
        let result: Result<Value, any Error>
        do {
            result = .success(
                try await withPublisher(settings, metrics, log) { publisher in
                    try await body(AppleSession(client: client, publisher: publisher, metrics: metrics))
                })
        } catch { result = .failure(error) }
        await http.close()
        return try result.get()
    }

    private static func withPublisher<Value>(
        _ settings: HoldfastSettings, _ metrics: Metrics, _ log: Log,
        _ body: (any MessagePublisher) async throws -> Value
    ) async throws -> Value {
        guard settings.embedded.queue == .rabbitmq else {
            return try await settings.withEmbeddedQueue { queue in try await body(queue) }
        }
        let publisher = try BrokerPublisher(settings: settings.broker, metrics: metrics, log: log)
        try await publisher.start()
        let result: Result<Value, any Error>
        do { result = .success(try await body(publisher)) } catch { result = .failure(error) }
        await publisher.drain()
        return try result.get()
    }
}

extension AppSettings {
    /// The key for the App Store Server API.
    func requiredKey() throws(UsageError) -> ServerAPIKey {
        guard let key = serverAPIKey else {
            throw UsageError(
                "the app \(id) has no key for the App Store Server API: set apps.\(id).serverAPI.keyId, "
                    + ".issuerId and .privateKeyFile (App Store Connect: Users and Access, Integrations, In-App Purchase)"
            )
        }
        return key
    }
}
