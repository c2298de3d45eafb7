import CacheTier
import Entitlements
import Redis
import Runtime

/// The store as a command at a terminal uses it: one app, one environment, read from Redis directly.
struct StoreSession {
    let settings: HoldfastSettings
    let app: AppSettings
    let environment: StoreEnvironment
    let redis: any RedisLink
    let loop: EventLoop
    let store: LineageStore
    /// By the product map in force.
    let rules: StoreRules

    /// The options by which a command says which app and environment it is about.
    static let options: Set<String> = ["app", "environment", "settings"]

    /// Runs `body` while there is a connection to Redis. `name` is the command's.
    static func with<Value>(
        _ name: String, _ arguments: CommandArguments, _ body: (StoreSession) async throws -> Value
    ) async throws -> Value {
        let environment = try Self.environment(arguments.value("environment"))
        let settings = try HoldfastSettings.load(path: arguments.value("settings"))
        let app = try Self.app(arguments.value("app"), of: settings)
        let loop = try EventLoop(name: name)
        let redis = try settings.storeConnector(loop: loop, log: Log(part: name, minimum: .error)).link(name)
        await redis.start()
        let result: Result<Value, any Error>
        do {
            let map = try await ProductMapStore(redis: redis).published(of: app.id)?.map ?? app.map
            let rules = StoreRules(transfers: app.transfers, evaluation: app.policy) { map }
            let store = LineageStore(redis: redis, settings: settings.store, rules: [app.id: rules])
            result = .success(
                try await body(
                    StoreSession(
                        settings: settings, app: app, environment: environment, redis: redis, loop: loop,
                        store: store, rules: rules)))
        } catch { result = .failure(error) }
        await redis.close()
        loop.stop()
        return try result.get()
    }

    private static func environment(_ name: String?) throws(UsageError) -> StoreEnvironment {
        guard let environment = StoreEnvironment(rawValue: name ?? "production") else {
            throw UsageError("--environment takes production or sandbox")
        }
        return environment
    }

    private static func app(_ name: String?, of settings: HoldfastSettings) throws(UsageError) -> AppSettings {
        let names = settings.apps.map(\.id.rawValue)
        guard let name else {
            guard settings.apps.count == 1 else {
                throw UsageError("say which app with --app: \(names.joined(separator: ", "))")
            }
            return settings.apps[0]
        }
        guard let app = settings.apps.first(where: { $0.id.rawValue == name }) else {
            throw UsageError("the settings have no app \(name); they have \(names.joined(separator: ", "))")
        }
        return app
    }
}
