import AppStore
import Broker
import CacheTier
import Entitlements
import HTTP
import Redis
import Runtime
import Simulator
import Synchronization
import TestSupport
import Time

@testable import Consumer

/// A clock that tests set. It begins a month ahead, so that nobody takes the real time of an HTTP answer for the store's.
final class HandSetClock: Sendable {
    private let time = Mutex(WallClock.system.now() + .seconds(30 * 86_400))
    var wall: WallClock { WallClock { self.now } }
    var now: Timestamp { time.withLock { $0 } }
    func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
}

/// A simulated App Store of one test's own, with a client that knows its key, on a clock set by hand.
final class SimulatedApple: Sendable {
    static let identity = AppIdentity(bundleID: "com.example.demo", appAppleID: 1_234_567_890)
    static let products = [
        "demo.premium.monthly": ProductMap.Product(entitlements: ["premium"]),
        "demo.premium.yearly": ProductMap.Product(entitlements: ["premium"]),
    ]

    let clock: HandSetClock
    let simulator: Simulator
    let client: ServerAPIClient
    let verifier: NotificationVerifier

    /// `notificationURL` is where notifications go; by default nobody listens there, so that their fate is a failure, and
    /// they are in the history all the same.
    static func with(
        environment: StoreSettings.Environment = .production, notificationURL: String = "http://127.0.0.1:1/",
        clock: HandSetClock = HandSetClock(), _ body: (SimulatedApple) async throws -> Void
    ) async throws {
        let loops = [try EventLoop(name: "store"), try EventLoop(name: "server"), try EventLoop(name: "client")]
        let catalog = try StoreKitFile.parse(try File.bytes(at: "\(Command.packageFolder)/ops/demo.storekit"))
        let identity = try SimulatorIdentity(makingAt: clock.now)
        var store = StoreSettings(seed: .random(in: .min ... .max))
        store.environment = environment
        let simulator = Simulator(
            settings: SimulatorSettings(store: store, catalog: catalog, notificationURL: notificationURL),
            identity: identity, loop: loops[0], serverLoops: [loops[1]], clock: clock.wall, log: .discarding)
        try await simulator.start()
        var settings = ServerAPISettings()
        settings.productionURL = simulator.url
        settings.sandboxURL = simulator.url
        settings.http.totalTimeout = .seconds(30)
        let http = HTTPClient(settings: settings.http, loop: loops[2])
        let result: Result<Void, any Error>
        do {
            let client = ServerAPIClient(
                bundleID: store.bundleID, environment: environment == .production ? .production : .sandbox,
                key: ServerAPIKey(keyID: identity.keyID, issuerID: identity.issuerID, key: identity.apiKey),
                settings: settings, http: http, budget: UnlimitedCalls(), clock: clock.wall)
            let roots = try TrustedRoots(der: [identity.authority.rootDER])
            let apple = SimulatedApple(
                clock: clock, simulator: simulator, client: client,
                verifier: NotificationVerifier(JWSVerifier(roots: roots)))
            result = .success(try await body(apple))
        } catch { result = .failure(error) }
        await http.close()
        await simulator.drain()
        for loop in loops { loop.stop() }
        try result.get()
    }

    private init(clock: HandSetClock, simulator: Simulator, client: ServerAPIClient, verifier: NotificationVerifier) {
        self.clock = clock
        self.simulator = simulator
        self.client = client
        self.verifier = verifier
    }

    /// Lets time pass, and everything happen in the store that is due by then.
    func pass(_ duration: Duration) async {
        clock.advance(by: duration)
        await simulator.tick()
    }

    /// What is notified from now on is lost, or not.
    func loseNotifications(_ lost: Bool) async {
        var behaviour = await simulator.sendingBehaviour
        behaviour.losePercent = lost ? 100 : 0
        await simulator.setBehaviour(sending: behaviour)
    }

    /// So many purchases of customers of their own, whose notifications are lost.
    @discardableResult
    func sell(_ count: Int, _ product: String = "demo.premium.monthly") async throws -> [String] {
        await loseNotifications(true)
        var accounts: [String] = []
        for _ in 0..<count {
            let account = try await simulator.createAccount()
            try await simulator.perform(.buy(product), for: account)
            accounts.append(account)
        }
        return accounts
    }

    /// The UUIDs of all notifications so far.
    func uuids() async -> [String] { await simulator.deliveries().map(\.notification.uuid) }
}

/// A backfill before a simulated store, a real Redis and a publisher that remembers.
struct BackfillStage {
    let apple: SimulatedApple
    let redis: RedisClient
    let app = AppID(RedisServer.uniqueApp("backfill"))
    let jobs: RecoveryStore
    let seen: SeenNotifications
    let settings: RecoverySettings

    static func with(
        environment: StoreSettings.Environment = .production, lanes: Int = 2,
        _ body: (BackfillStage) async throws -> Void
    ) async throws {
        let server = try await RedisServer.shared()
        try await SimulatedApple.with(environment: environment) { apple in
            let loop = try EventLoop(name: "backfill-redis")
            var redisSettings = RedisSettings()
            redisSettings.port = server.port
            let redis = RedisClient(name: "backfill", settings: redisSettings, loop: loop)
            await redis.start()
            let result: Result<Void, any Error>
            do { result = .success(try await body(BackfillStage(apple, redis, lanes))) } catch {
                result = .failure(error)
            }
            await redis.close()
            loop.stop()
            try result.get()
        }
    }

    private init(_ apple: SimulatedApple, _ redis: RedisClient, _ lanes: Int) {
        self.apple = apple
        self.redis = redis
        var settings = RecoverySettings()
        settings.lanes = lanes
        self.settings = settings
        jobs = RecoveryStore(
            redis: redis, app: app, environment: apple.client.environment, settings: settings, clock: apple.clock.wall,
            leaseTime: .seconds(20))
        seen = SeenNotifications(redis: redis, settings: settings, clock: apple.clock.wall)
    }

    func backfill(_ publisher: any MessagePublisher, client: ServerAPIClient? = nil) -> Backfill {
        Backfill(
            app: app, client: client ?? apple.client, verifier: apple.verifier, seen: seen, publisher: publisher,
            names: BrokerNames(prefix: "test"), settings: settings, clock: apple.clock.wall)
    }

    func job(
        _ name: String = "command-1", from: Duration = .seconds(3600), taking: RecoveryJob.Taking = .missing
    ) -> RecoveryJob {
        let now = apple.clock.now
        var job = RecoveryJob(
            name: name, cause: .command, phase: .history,
            history: BackfillProgress(from: now - from, until: now, lanes: settings.lanes), at: now)
        job.taking = taking
        return job
    }

    /// As if a consumer had settled what was published.
    func settle(_ uuids: [String]) async throws {
        for uuid in uuids { try await seen.note(uuid, of: app, in: apple.client.environment) }
    }
}

/// Publishes into a memory, as a consumer settles it at once; fails when told to.
final class SettlingPublisher: MessagePublisher {
    private let state = Mutex<(messages: [BrokerMessage], room: Int)>(([], .max))
    private let seen: SeenNotifications?

    init(_ seen: SeenNotifications? = nil) { self.seen = seen }

    var isConnected: Bool { true }
    var messages: [BrokerMessage] { state.withLock { $0.messages } }
    var uuids: [String] { messages.compactMap(\.messageID) }

    /// Takes so many more.
    func makeRoom(_ count: Int) { state.withLock { $0.room = count } }

    func publish(
        _ message: BrokerMessage, to exchange: String, routingKey: String, mandatory: Bool
    ) async throws(BrokerError) {
        let isTaken = state.withLock { state in
            guard state.room > 0 else { return false }
            state.room -= 1
            state.messages.append(message)
            return true
        }
        guard isTaken else { throw BrokerError(.nacked, "told to refuse") }
        guard let seen, let uuid = message.messageID, let app = message.headers[MessageHeader.app],
            let environment = message.headers[MessageHeader.environment].flatMap(StoreEnvironment.init(rawValue:))
        else { return }
        do throws(StoreError) { try await seen.note(uuid, of: AppID(app), in: environment) } catch {
            throw BrokerError(.closed, "\(error)")
        }
    }
}
