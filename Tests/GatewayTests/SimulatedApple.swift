import AppStore
import Entitlements
import HTTP
import Redis
import Runtime
import Simulator
import Synchronization
import TestSupport
import Time

import struct Simulator.StoreSettings

@testable import CacheTier
@testable import Gateway

/// A simulated App Store that a gateway of the tests asks, under a clock that both share and tests set.
final class SimulatedApple: Sendable {
    /// Ahead of this machine's clock by what tests say.
    final class Hands: Sendable {
        private let offset = Mutex(Duration.zero)
        var clock: WallClock { WallClock { WallClock.system.now() + self.offset.withLock { $0 } } }
        /// Never back.
        func move(to instant: Timestamp) {
            offset.withLock { $0 = max($0, instant - WallClock.system.now()) }
        }
    }

    /// Lets every call pass, and remembers its priority.
    final class Calls: CallBudget {
        private let made = Mutex<[CallPriority]>([])
        var all: [CallPriority] { made.withLock { $0 } }
        func admit(_ lane: CallLane, _ priority: CallPriority, within patience: Duration) {
            made.withLock { $0.append(priority) }
        }
        func pause(_ lane: CallLane, for delay: Duration) {}
    }

    static let customer = "0000000a-0000-4000-8000-00000000000a"

    let app: AppID
    let simulator: Simulator
    let hands = Hands()
    let calls = Calls()
    private let health = Mutex(AppleHealth.fine)
    private let client: ServerAPIClient
    private let verifier: JWSVerifier

    static func with(_ body: (SimulatedApple) async throws -> Void) async throws {
        let loops = [try EventLoop(name: "store"), try EventLoop(name: "server"), try EventLoop(name: "client")]
        var settings = ServerAPISettings().http
        // As long as the slowest machine needs.
        settings.totalTimeout = .seconds(120)
        let http = HTTPClient(settings: settings, loop: loops[2])
        let apple = try await SimulatedApple(loops, http)
        _ = try await apple.simulator.createAccount(customer)
        let result: Result<Void, any Error>
        do { result = .success(try await body(apple)) } catch { result = .failure(error) }
        await http.close()
        await apple.simulator.drain()
        for loop in loops { loop.stop() }
        try result.get()
    }

    private init(_ loops: [EventLoop], _ http: HTTPClient) async throws {
        app = AppID(RedisServer.uniqueApp("refresh"))
        let clock = hands.clock
        let identity = try SimulatorIdentity(makingAt: clock.now())
        let catalog = try StoreKitFile.parse(try File.bytes(at: "\(Command.packageFolder)/ops/demo.storekit"))
        simulator = Simulator(
            // Nobody listens there: no notification arrives, so that Apple has to be asked.
            settings: SimulatorSettings(
                store: StoreSettings(), catalog: catalog, notificationURL: "http://127.0.0.1:1/"),
            identity: identity, loop: loops[0], serverLoops: [loops[1]], clock: clock, log: .discarding)
        try await simulator.start()
        verifier = JWSVerifier(roots: try TrustedRoots(der: [identity.authority.rootDER]))
        var settings = ServerAPISettings()
        settings.productionURL = simulator.url
        client = ServerAPIClient(
            bundleID: StoreSettings().bundleID, environment: .production,
            key: ServerAPIKey(keyID: identity.keyID, issuerID: identity.issuerID, key: identity.apiKey),
            settings: settings, http: http, budget: calls, clock: clock)
    }

    var identity: AppIdentity {
        AppIdentity(bundleID: StoreSettings().bundleID, appAppleID: StoreSettings().appAppleID)
    }

    func inquiry(for identity: AppIdentity? = nil) -> StatusInquiry {
        StatusInquiry(
            client: client, verifier: verifier, identity: identity ?? self.identity, clock: hands.clock)
    }

    /// As a gateway asks it.
    var source: RefreshSource {
        RefreshSource { app, environment in
            app == self.app && environment == .production ? self.inquiry() : nil
        } health: { _, _ in
            self.health.withLock { $0 }
        }
    }

    func say(_ health: AppleHealth) { self.health.withLock { $0 = health } }

    var rules: [AppID: AppRules] {
        let map = ProductMap(
            version: "1",
            products: [
                "demo.premium.monthly": .init(entitlements: ["premium"], group: "g", level: 1),
                "demo.lifetime": .init(entitlements: ["lifetime"]), "demo.coins": .init(entitlements: []),
            ])
        return [app: AppRules(products: map)]
    }

    /// Lets the customer buy, and a consumer hear of it: what Apple says right after is in Redis. Returns the lineage.
    func buy(_ product: String, redis settings: RedisSettings) async throws -> LineageRecord {
        let known = await simulator.truth(of: Self.customer).map(\.originalTransactionID)
        _ = try await simulator.perform(.buy(product), for: Self.customer)
        guard
            let bought = await simulator.truth(of: Self.customer).first(where: {
                !known.contains($0.originalTransactionID)
            })
        else { throw CommandError("nothing was bought") }
        let lineage = LineageID(
            app: app, environment: .production, originalTransactionID: bought.originalTransactionID)
        let renews = bought.type == "Auto-Renewable Subscription"
        let question = StatusQuestion(
            lineage: lineage, call: renews ? .statuses : .transaction, transactionID: bought.transactionID)
        let answer = try await inquiry().ask(question, for: .reconcile, .sweep)
        let loop = try EventLoop(name: "buyer")
        let redis = RedisClient(name: "buyer", settings: settings, loop: loop)
        await redis.start()
        var record = LineageRecord(lineage: lineage)
        for observation in answer.observations where observation.lineage == lineage {
            record.fold(observation)
            _ = try await LineageStore(redis: redis).apply(observation, cause: .purchase, at: hands.clock.now())
        }
        await redis.close()
        loop.stop()
        return record
    }
}
