import AppStore
import Broker
import Entitlements
import HTTP
import Redis
import Runtime
import Time

/// The system that is examined: its settings, and ways to ask its parts. What several checks need is asked once.
struct Patient: Sendable {
    let settings: HoldfastSettings
    /// All that is wrong with the settings; what is wrong counts as its default elsewhere.
    let mistakes: [String]
    let files: [SettingsReader.NamedFile]
    /// The secrets that stand in the settings file itself.
    let secretsWithin: [String]
    /// The bearer keys that are known in plain text, by their names.
    let bearerKeys: [String: Secret]
    let path: String
    let clock: WallClock

    let broker: BrokerInspector
    let greeting: Once<Result<BrokerInspector.Greeting, BrokerError>>
    let redis: Once<Result<any RedisLink, RedisError>>
    let redisInfo: Once<Result<RedisInfo, RedisError>>
    let http: HTTPClient
    /// Those that are asked about.
    let apps: [AppSettings]
    /// Each of them that has a key, in each environment that is asked about.
    let apple: [AppleAccess]

    /// No names mean all apps.
    init(
        reader: SettingsReader, path: String, apps names: Set<String> = [],
        environments: [StoreEnvironment] = [.production, .sandbox], clock: WallClock = .system
    ) throws(SystemError) {
        var reader = reader
        let settings = HoldfastSettings(&reader)
        (files, secretsWithin) = (reader.files, reader.secretsWithin)
        do {
            try reader.finish()
            mistakes = []
        } catch {
            mistakes = error.problems
        }
        var bearerKeys: [String: Secret] = [:]
        for name in reader.names(in: "keys") {
            bearerKeys[name] = reader.within("keys", name) { $0.secret("secret", "") }
        }
        self.bearerKeys = bearerKeys
        self.settings = settings
        self.path = path
        self.clock = clock

        let broker = BrokerInspector(settings: settings.broker)
        self.broker = broker
        greeting = Once {
            do throws(BrokerError) { return .success(try await broker.greet()) } catch { return .failure(error) }
        }
        let loop = try EventLoop(name: "doctor")
        http = HTTPClient(loop: loop)
        let calls = HTTPClient(settings: settings.appStoreAPI.http, loop: loop)
        let apps = settings.apps.filter { names.isEmpty || names.contains($0.id.rawValue) }
        self.apps = apps
        apple = apps.flatMap { app in
            environments.compactMap { environment in
                AppleAccess(
                    app: app, environment: environment, settings: settings.appStoreAPI, http: calls, clock: clock)
            }
        }
        let connector = try settings.storeConnector(loop: loop)
        let redis = Once { await Self.connect(connector) }
        self.redis = redis
        redisInfo = Once {
            do throws(RedisError) {
                let text = try await redis.answer().get().send(["INFO"], timeout: nil).string ?? ""
                return .success(RedisInfo(text))
            } catch { return .failure(error) }
        }
    }

    private static func connect(_ connector: RedisConnector) async -> Result<any RedisLink, RedisError> {
        let client = connector.link("doctor")
        await client.start()
        guard !client.isConnected else { return .success(client) }
        // What a command is refused with is why there is no connection.
        do throws(RedisError) {
            _ = try await client.send(["PING"], timeout: nil)
            return .success(client)
        } catch {
            await client.close()
            return .failure(error)
        }
    }

    /// What `body` finds, if RabbitMQ lets us in at all.
    func withBroker(
        _ body: (BrokerInspector) async throws(BrokerError) -> Finding
    ) async -> Finding {
        if case .failure(let error) = await greeting.answer() {
            return .notChecked(error.code == .refused ? "RabbitMQ refuses the login" : "RabbitMQ does not answer")
        }
        do throws(BrokerError) { return try await body(broker) } catch {
            if error.code == .blocked { return .notChecked("RabbitMQ takes nothing now") }
            return .wrong("RabbitMQ: \(error)", "Run holdfast doctor again; if it stays, look into RabbitMQ's log.")
        }
    }

    /// What `body` finds, if Redis lets us in at all.
    func withRedis(_ body: (any RedisLink) async throws(RedisError) -> Finding) async -> Finding {
        guard case .success(let client) = await redis.answer() else { return .notChecked("Redis cannot be asked") }
        do throws(RedisError) { return try await body(client) } catch { return Self.finding(error, "it") }
    }

    /// What `body` makes of Redis' account of itself.
    func withRedisInfo(_ body: (RedisInfo) async throws(RedisError) -> Finding) async -> Finding {
        guard case .success = await redis.answer() else { return .notChecked("Redis cannot be asked") }
        do throws(RedisError) { return try await body(try await redisInfo.answer().get()) } catch {
            return Self.finding(error, "INFO")
        }
    }

    private static func finding(_ error: RedisError, _ what: String) -> Finding {
        if error.code == .refused, error.message.hasPrefix("NOPERM") {
            return .notChecked(
                "the user may not ask (\(error.message))",
                "To let the doctor see: redis-cli ACL SETUSER <redis.user> +info +config|get +time")
        }
        return .wrong("Redis: \(error.message.isEmpty ? "\(error.code)" : error.message)", "Look into Redis' log.")
    }
}

/// What Redis says of itself to INFO.
struct RedisInfo: Sendable {
    private let fields: [String: String]

    init(_ text: String) {
        var fields: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { fields[String(parts[0])] = String(parts[1]) }
        }
        self.fields = fields
    }

    subscript(_ name: String) -> String? { fields[name] }
    func number(_ name: String) -> Int? { fields[name].flatMap { Int($0) } }
}
