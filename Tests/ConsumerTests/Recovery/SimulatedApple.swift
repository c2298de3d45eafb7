import AppStore
import Entitlements
import HTTP
import Runtime
import Simulator
import Synchronization
import TestSupport
import Time

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
    let key: ServerAPIKey
    let verifier: NotificationVerifier

    /// `notificationURL` is where notifications go; by default nobody listens there, so that their fate is a failure, and
    /// they are in the history all the same.
    static func with(
        environment: StoreEnvironment = .production, notificationURL: String = "http://127.0.0.1:1/",
        clock: HandSetClock = HandSetClock(), identity: SimulatorIdentity? = nil, history: Int = 100_000,
        _ body: (SimulatedApple) async throws -> Void
    ) async throws {
        let loops = [try EventLoop(name: "store"), try EventLoop(name: "server"), try EventLoop(name: "client")]
        let catalog = try StoreKitFile.parse(try File.bytes(at: "\(Command.packageFolder)/ops/demo.storekit"))
        let identity = if let identity { identity } else { try SimulatorIdentity(makingAt: clock.now) }
        var store = StoreSettings(seed: .random(in: .min ... .max))
        store.environment = environment == .production ? .production : .sandbox
        let simulator = Simulator(
            settings: SimulatorSettings(
                store: store, catalog: catalog, notificationURL: notificationURL, maximumHistory: history),
            identity: identity, loop: loops[0], serverLoops: [loops[1]], clock: clock.wall, log: .discarding)
        try await simulator.start()
        var settings = ServerAPISettings()
        settings.productionURL = simulator.url
        settings.sandboxURL = simulator.url
        settings.http.totalTimeout = .seconds(30)
        let http = HTTPClient(settings: settings.http, loop: loops[2])
        let result: Result<Void, any Error>
        do {
            let key = ServerAPIKey(keyID: identity.keyID, issuerID: identity.issuerID, key: identity.apiKey)
            let client = ServerAPIClient(
                bundleID: store.bundleID, environment: environment, key: key, settings: settings, http: http,
                budget: UnlimitedCalls(), clock: clock.wall)
            let roots = try TrustedRoots(der: [identity.authority.rootDER])
            let apple = SimulatedApple(
                clock: clock, simulator: simulator, client: client, key: key,
                verifier: NotificationVerifier(JWSVerifier(roots: roots)))
            result = .success(try await body(apple))
        } catch { result = .failure(error) }
        await http.close()
        await simulator.drain()
        for loop in loops { loop.stop() }
        try result.get()
    }

    private init(
        clock: HandSetClock, simulator: Simulator, client: ServerAPIClient, key: ServerAPIKey,
        verifier: NotificationVerifier
    ) {
        self.key = key
        self.clock = clock
        self.simulator = simulator
        self.client = client
        self.verifier = verifier
    }

    var url: String { simulator.url }

    /// Lets time pass, and everything happen in the store that is due by then.
    func pass(_ duration: Duration) async {
        clock.advance(by: duration)
        await simulator.tick()
    }

    /// Apple is away: nothing is notified, and every call of the API fails; or it is there again. What was not notified
    /// meanwhile is not sent any more.
    func goAway(_ away: Bool) async {
        await loseNotifications(away)
        var behaviour = await simulator.apiBehaviour
        behaviour.failStatus = away ? 503 : 0
        behaviour.failPercent = away ? 100 : 0
        await simulator.setBehaviour(api: behaviour)
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
