import AppStore
import Broker
import CacheTier
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
    let redisServers: Once<Result<[RedisPart], RedisError>>
    private let loop: EventLoop
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
        self.loop = loop
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
        redisServers = Once {
            do throws(RedisError) { return .success(try await RedisPart.all(of: try await redis.answer().get())) } catch
            {
                return .failure(error)
            }
        }
    }

    private static func connect(_ connector: RedisConnector) async -> Result<any RedisLink, RedisError> {
        let client = connector.link("doctor")
        await client.start()
        guard !client.isConnected else { return .success(client) }
        // What a command is refused with is why there is no connection.
        do throws(RedisError) {
            if !client.takesManySlots {
                // Each of its nodes, and then what they say themselves.
                _ = try await client.parts()
                _ = try await client.send(["GET", .text(StoreInspector.layoutKey)], timeout: nil)
            } else {
                _ = try await client.send(["PING"], timeout: nil)
            }
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

    /// What `body` finds at a server that the settings do not name, with the same login.
    func withRedis(
        at address: RedisAddress, _ body: (RedisClient) async throws(RedisError) -> Finding
    ) async -> Finding {
        var settings = settings.redis
        (settings.mode, settings.host, settings.port) = (.single, address.host, address.port)
        let client = RedisClient(name: "doctor \(address)", settings: settings, loop: loop)
        await client.start()
        let finding: Finding
        do throws(RedisError) { finding = try await body(client) } catch {
            finding = .warning(
                "replica \(address) cannot be asked: \(error.message)", "Is it running, with the same users?")
        }
        await client.close()
        return finding
    }

    /// What `body` finds at each server that has a part of the store, whether or not it may be asked about itself.
    func withEachRedis(_ body: (any RedisCommands) async throws(RedisError) -> Finding) async -> Finding {
        await withRedis { link throws(RedisError) in
            var findings: [Finding] = []
            for server in try await link.parts() { findings.append(try await body(server)) }
            // They are all alike, or one is not: what is wrong with several is said once.
            var distinct: [Finding] = []
            for finding in findings where !distinct.contains(finding) { distinct.append(finding) }
            return distinct.count == 1 ? distinct[0] : .of(distinct, otherwise: "")
        }
    }

    /// What `body` makes of each server that has a part of the store, and of its account of itself.
    func withRedisServers(_ body: (RedisPart) async throws(RedisError) -> Finding) async -> Finding {
        guard case .success = await redis.answer() else { return .notChecked("Redis cannot be asked") }
        do throws(RedisError) {
            let servers = try await redisServers.answer().get()
            var findings: [Finding] = []
            for server in servers {
                let finding = try await body(server)
                findings.append(servers.count == 1 ? finding : finding.at(server.place))
            }
            if findings.count == 1, let only = findings.first { return only }
            return .of(findings, otherwise: findings.map(\.sentence).joined(separator: "; "))
        } catch {
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
