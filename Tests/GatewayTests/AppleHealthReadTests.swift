import AppStore
import CacheTier
import Entitlements
import HTTP
import JSON
import Redis
import Runtime
import Simulator
import Synchronization
import TestSupport
import Testing
import Time

import struct Simulator.StoreSettings

@testable import Gateway

/// What an outage of Apple's does to reads: it is in their level, and in nothing else.
@Suite("Apple's outages in reads", .timeLimit(.minutes(6)))
struct AppleHealthReadTests {
    private final class Hands: Sendable {
        private let offset = Mutex(Duration.zero)
        func move(by duration: Duration) { offset.withLock { $0 += duration } }
        var clock: WallClock { WallClock { WallClock.system.now() + self.offset.withLock { $0 } } }
    }

    private let app = AppID(RedisServer.uniqueApp("apple"))
    private let anna = "0000000a-0000-4000-8000-00000000000a"
    private let hands = Hands()
    private let key: HTTPHeaders = ["Authorization": "Bearer reader-reader-reader"]

    /// A simulated App Store, a gateway that knows it, and a customer who has paid.
    private struct Scene {
        let simulator: Simulator
        let apple: AppleClients
        let metrics: Metrics
        let gateway: RunningGateway
        let client: ServerAPIClient

        func behave(_ change: (inout APIBehaviour) -> Void) async {
            var behaviour = APIBehaviour()
            change(&behaviour)
            await simulator.setBehaviour(api: behaviour)
        }

        /// A call that this process makes for whatever reason; whether Apple answered.
        func call() async -> Bool {
            do throws(ServerAPIFailure) {
                _ = try await client.transaction("1", .support)
                return true
            } catch { return error.kind == .refused }
        }

        /// Calls that were made so far, by their outcomes.
        var calls: [Substring] {
            metrics.exposition().split(separator: "\n").filter {
                $0.hasPrefix("holdfast_app_store_api_calls_total{") && !$0.hasSuffix(" 0")
            }
        }
    }

    private func play(_ body: (Scene) async throws -> Void) async throws {
        let redis = try await RedisServer.shared()
        let loops = [try EventLoop(name: "store"), try EventLoop(name: "store-http"), try EventLoop(name: "apple")]
        let catalog = try StoreKitFile.parse(try File.bytes(at: "\(Command.packageFolder)/ops/demo.storekit"))
        let identity = try SimulatorIdentity(makingAt: WallClock.system.now())
        var store = StoreSettings()
        store.environment = .production
        let simulator = Simulator(
            settings: SimulatorSettings(store: store, catalog: catalog, notificationURL: nil), identity: identity,
            loop: loops[0], serverLoops: [loops[1]], log: .discarding)
        try await simulator.start()
        var api = ServerAPISettings()
        (api.productionURL, api.sandboxURL) = (simulator.url, simulator.url)
        // A busy machine is not an outage of Apple's.
        (api.http.totalTimeout, api.http.connectTimeout) = (.seconds(300), .seconds(300))
        var health = AppleHealthSettings()
        health.slowAfter = .seconds(300)
        health.calm = .zero
        // Only the calls are made that the test makes, so that each state stays as long as the test looks at it.
        health.probes = false
        let metrics = Metrics()
        let apple = AppleClients(
            apps: [
                AppleClients.App(
                    id: app, bundleID: store.bundleID,
                    key: ServerAPIKey(keyID: identity.keyID, issuerID: identity.issuerID, key: identity.apiKey))
            ], settings: api, health: health, http: HTTPClient(settings: api.http, loop: loops[2]),
            budget: UnlimitedCalls(), metrics: metrics, clock: hands.clock)
        let client = try #require(apple.client(for: app, .production))
        let map = ProductMap(
            version: "1", products: ["pro.monthly": .init(entitlements: ["pro"], group: "g", level: 1)])
        try await withGateway(
            redis: redis, rules: [app: AppRules(products: map)], clock: hands.clock, apple: apple,
            // Nor is it a Redis that has gone.
            liveFor: .seconds(60),
            { settings, _ in
                settings.keys = [BearerKey(name: "reader", key: "reader-reader-reader", scopes: [.read, .support])]
            }
        ) { gateway in
            try await pay(gateway)
            try await body(
                Scene(simulator: simulator, apple: apple, metrics: metrics, gateway: gateway, client: client))
        }
        await simulator.drain()
        for loop in loops { loop.stop() }
    }

    private func pay(_ gateway: RunningGateway) async throws {
        let loop = try EventLoop(name: "payer")
        let client = RedisClient(name: "payer", settings: gateway.redis, loop: loop)
        await client.start()
        let now = hands.clock.now()
        let lineage = LineageID(app: app, environment: .production, originalTransactionID: "1000")
        let observation = Observation(
            lineage: lineage, source: .notification, signedDate: now,
            transaction: TransactionFact(
                transactionID: "1", originalTransactionID: "1000", productID: "pro.monthly", signedDate: now,
                purchaseDate: now - .seconds(86_400), expiresDate: now + .seconds(30 * 86_400),
                type: "Auto-Renewable Subscription", subscriptionGroupID: "g", appAccountToken: anna,
                ownership: "PURCHASED", payloadHash: "\(now.milliseconds)"))
        _ = try await LineageStore(redis: client).apply(observation, cause: .purchase, at: now)
        await client.close()
        loop.stop()
    }

    private func read(_ scene: Scene, _ route: String = "entitlements") async throws -> JSONValue {
        let response = try await scene.gateway.get("/v1/apps/\(app)/customers/\(anna)/\(route)", headers: key)
        #expect(response.status == 200)
        let json = try JSONValue.parse(response.body)
        #expect(response.headers["Holdfast-Service-Level"] == json["service"]?["level"]?.string)
        return json
    }

    private func service(_ scene: Scene) async throws -> String {
        let service = try await read(scene)["service"]
        return "\(service?["level"]?.string ?? "") \(service?["reason"]?.string ?? "")"
    }

    /// Reads, none of which fails, asks Apple, or says anything else of the customer for Apple's trouble.
    private func readOften(_ scene: Scene, _ expected: String) async throws {
        let calls = scene.calls
        for _ in 0..<25 {
            let json = try await read(scene)
            let service = json["service"]
            #expect("\(service?["level"]?.string ?? "") \(service?["reason"]?.string ?? "")" == expected)
            #expect(json["entitlements"]?.array?.first?["active"]?.bool == true)
            #expect(service?["actions"]?["purchase"]?.bool == !expected.hasPrefix("B"))
            #expect(service?["actions"]?["manageSubscription"]?.bool == expected.hasPrefix("S"))
            #expect(service?["syncing"]?.bool == !expected.hasPrefix("S"))
        }
        #expect(scene.calls == calls)
    }

    @Test("Invariants 5 and 8: Apple's outage leads reads from S to A and B and back, and costs them nothing")
    func anOutageOfApplesIsInTheLevelOfReadsAndInNothingElse() async throws {
        try await play { scene in
            #expect(await scene.call())
            check(try await eventually { try await service(scene) == "S current" })

            await scene.behave { $0.outages = [APIOutage(.reset)] }
            #expect(!(await scene.call()))
            check(try await eventually { try await service(scene) == "A appleSlow" })
            try await readOften(scene, "A appleSlow")

            await scene.behave { $0.outages = [APIOutage(.error)] }
            #expect(!(await scene.call()))
            #expect(try await service(scene) == "A appleSlow")
            #expect(!(await scene.call()))
            check(try await eventually { try await service(scene) == "B appleUnreachable" })
            try await readOften(scene, "B appleUnreachable")

            // While somebody waits for an Apple that does not answer, reads wait for nobody.
            await scene.behave { $0.isDark = true }
            let hanging = Task { await scene.call() }
            try await readOften(scene, "B appleUnreachable")
            hanging.cancel()
            #expect(!(await hanging.value))

            await scene.behave { _ in }
            for _ in 0..<2 { #expect(await scene.call()) }
            #expect(scene.apple.health.health(of: app, .production) == .unreachable)
            #expect(try await service(scene) == "B appleUnreachable")
            #expect(await scene.call())
            check(try await eventually { try await service(scene) == "S current" })

            let changes = scene.apple.health.recentChanges.filter { $0.environment == .production }
            #expect(changes.reversed().map(\.to) == [.degraded, .unreachable, .fine])
            #expect(changes.reversed().map(\.trouble) == [.connectionLost, .server, nil])
            let page = try JSONValue.parse(try await scene.gateway.operations("/apple").body)
            let shown = page["changes"]?.array?.filter { $0["environment"]?.string == "production" }
            let levels = shown?.compactMap { $0["level"]?.string }
            #expect(levels == ["S", "B", "A"])
        }
    }

    @Test func aWallClockThatIsSetChangesNeitherHealthNorLevel() async throws {
        try await play { scene in
            #expect(await scene.call())
            for hours in [6, -12] {
                hands.move(by: .seconds(hours * 3600))
                #expect(try await service(scene) == "S current")
                // Tokens are dated by Apple's clock, whatever ours says.
                check(try await eventually { await scene.call() })
            }
            await scene.behave { $0.outages = [APIOutage(.reset)] }
            _ = await scene.call()
            check(try await eventually { try await service(scene) == "A appleSlow" })
            for _ in 0..<2 { _ = await scene.call() }
            check(try await eventually { try await service(scene) == "B appleUnreachable" })
            for hours in [20, -30] {
                hands.move(by: .seconds(hours * 3600))
                #expect(try await service(scene) == "B appleUnreachable")
            }
            await scene.behave { _ in }
            check(
                try await eventually {
                    _ = await scene.call()
                    return try await service(scene) == "S current"
                })
        }
    }

    @Test func theReasonsOfSupportSayTheSame() async throws {
        try await play { scene in
            #expect(await scene.call())
            await scene.behave { $0.outages = [APIOutage(.reset)] }
            _ = await scene.call()
            check(try await eventually { try await service(scene) == "A appleSlow" })
            let explanation = try await read(scene, "explanation")
            #expect(explanation["service"]?["level"]?.string == "A")
            #expect(explanation["service"]?["reason"]?.string == "appleSlow")
        }
    }
}
