import AppStore
import Entitlements
import HTTP
import JSON
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

/// Apple's health as a process knows it, before a server that says what a test says.
@Suite(.timeLimit(.minutes(6))) struct AppleHealthMonitorTests {
    private static let app = AppID("demo")
    private static let keyless = AppID("keyless")

    /// What the server answers at the moment.
    private final class Mood: Sendable {
        private let action = Mutex<@Sendable () -> ScriptedServer.Action>({ Mood.notFound })
        static var notFound: ScriptedServer.Action {
            answer(404, #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#)
        }
        func set(_ action: @escaping @Sendable () -> ScriptedServer.Action) { self.action.withLock { $0 = action } }
        var now: ScriptedServer.Action { action.withLock { $0 }() }
    }

    /// Clients whose calls are never slow, however busy the machine is, and whose probes are quick.
    private struct Ground {
        let mood = Mood()
        let metrics = Metrics()
        let log = LogLines()
        let server: ScriptedServer
        let apple: AppleClients
        let clock = TestClock(WallClock.system.now())

        var health: AppleHealth { apple.health.health(of: app, .production) }

        init(probes: Bool, loop: EventLoop, _ adjust: (inout AppleHealthSettings) -> Void) throws {
            let mood = mood
            server = try ScriptedServer { _ in mood.now }
            var api = ServerAPISettings()
            api.productionURL = server.url
            // Nobody is asked about the sandbox.
            api.sandboxURL = server.url
            api.http.totalTimeout = .seconds(300)
            api.http.connectTimeout = .seconds(300)
            var settings = AppleHealthSettings()
            settings.slowAfter = .seconds(300)
            settings.probes = probes
            settings.probeEvery = .milliseconds(30)
            settings.probeAgain = .milliseconds(10)
            settings.calm = .zero
            adjust(&settings)
            let key = ServerAPIKey(keyID: "KEY1", issuerID: Stage.issuerID, key: try SigningKey())
            apple = AppleClients(
                apps: [
                    AppleClients.App(id: app, bundleID: Stage.bundleID, key: key),
                    AppleClients.App(id: keyless, bundleID: "com.example.keyless", key: nil),
                ], settings: api, health: settings, http: HTTPClient(settings: api.http, loop: loop),
                budget: UnlimitedCalls(), metrics: metrics, log: log.log, clock: clock.wall)
        }

        func call() async -> ServerAPIFailure? {
            guard let client = apple.client(for: app, .production) else { return nil }
            do throws(ServerAPIFailure) {
                _ = try await client.statuses("2000000000000001", .support)
                return nil
            } catch { return error }
        }

        func changes(_ environment: StoreEnvironment = .production) -> [AppleHealthMonitor.Change] {
            apple.health.recentChanges.filter { $0.environment == environment }
        }
    }

    private func with(
        probes: Bool = true, _ adjust: (inout AppleHealthSettings) -> Void = { _ in },
        _ body: (Ground) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "apple-test")
        let ground = try Ground(probes: probes, loop: loop, adjust)
        await ground.apple.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(ground)) } catch { result = .failure(error) }
        await ground.apple.drain()
        loop.stop()
        try result.get()
    }

    @Test func whileNobodyCallsAppleIsAskedForATransactionThatDoesNotExist() async throws {
        try await with { ground in
            check(try await eventually { ground.server.exchanges.count >= 6 && ground.health == .fine })
            let lines = Set(ground.server.exchanges.map { Request($0.request).line })
            #expect(lines == ["GET /inApps/v1/transactions/1"])
            #expect(ground.apple.health.recentChanges.isEmpty)
            // Whoever has no key is not asked about, and no worse for it.
            #expect(ground.apple.client(for: Self.keyless, .production) == nil)
            #expect(ground.apple.health.health(of: Self.keyless, .production) == .notAsked)
            let bundles = try ground.server.exchanges.map { exchange in
                let part = Request(exchange.request).token.split(separator: ".")
                let claims = try #require(Base64URL.decode(String(part[1])))
                return try JSONValue.parse(claims)["bid"]?.string
            }
            #expect(Set(bundles) == [Stage.bundleID])
        }
    }

    @Test func anOutageIsSeenByProbesAndSoIsItsEnd() async throws {
        try await with { ground in
            check(try await eventually { ground.health == .fine })
            ground.mood.set { answer(503, "") }
            check(try await eventually { ground.health == .unreachable })
            ground.mood.set { Mood.notFound }
            check(try await eventually { ground.health == .fine })
            let changes = ground.changes().reversed().map { $0 }
            #expect(changes.map(\.to) == [.degraded, .unreachable, .fine])
            #expect(changes.map(\.from) == [.fine, .degraded, .unreachable])
            #expect(changes.map(\.trouble) == [.server, .server, nil])
            #expect(changes.first?.cause.contains("503") == true)
            #expect(changes.last?.cause == "3 calls in a row were answered")
            check(changes.allSatisfy { $0.outageBegan != nil })
            #expect(changes.first?.lastGood != nil)

            let text = ground.metrics.exposition()
            let labels = #"app="demo",environment="production""#
            #expect(text.contains("holdfast_apple_health{\(labels)} 0.0"))
            #expect(
                text.contains(#"holdfast_apple_health_changes_total{\#(labels),to="unreachable",cause="server"} 1"#))
            #expect(text.contains(#"holdfast_apple_health_changes_total{\#(labels),to="fine",cause="answers"} 1"#))
            let events = ground.log.all.compactMap { try? JSONValue.parse(Array($0.utf8)) }
                .filter { $0["environment"]?.string == "production" }.compactMap { $0["event"]?.string }
            #expect(
                events == ["Apple's API is slow or fails", "Apple's API is unreachable", "Apple's API is fine again"])
        }
    }

    @Test(arguments: [
        (500, AppleTrouble.server), (503, .server), (200, .unreadable), (302, .unreadable),
    ])
    func whatIsNoAnswerOfApplesIsAFailure(_ status: Int, _ trouble: AppleTrouble) async throws {
        try await with(probes: false) { ground in
            ground.mood.set { answer(status, "<html>", "Content-Type: text/html") }
            _ = await ground.call()
            #expect(ground.health == .degraded)
            #expect(ground.changes().first?.trouble == trouble)
        }
    }

    @Test(arguments: [400, 401, 403, 404, 408, 429])
    func whateverAppleRefusesAppleIsThere(_ status: Int) async throws {
        try await with(probes: false) { ground in
            ground.mood.set { answer(status, "") }
            for _ in 0..<5 { #expect(await ground.call()?.status == status) }
            #expect(ground.health == .fine)
        }
    }

    @Test func aConnectionThatEndsBeforeTheAnswerIsAFailure() async throws {
        try await with(probes: false) { ground in
            ground.mood.set { .answerAndClose("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{") }
            _ = await ground.call()
            #expect(ground.changes().first?.trouble == .connectionLost)
        }
    }

    @Test func anAnswerThatTakesTooLongIsAFailureThoughItsCallerGetsIt() async throws {
        try await with(probes: false, { $0.slowAfter = .milliseconds(1) }) { ground in
            ground.mood.set {
                // On the server's own thread.
                let end = ContinuousClock.now + .milliseconds(50)
                while ContinuousClock.now < end {}
                return answer(200, #"{"data":[]}"#)
            }
            #expect(await ground.call() == nil)
            #expect(ground.changes().first?.trouble == .slow)
        }
    }

    @Test func callsSpareProbesAndProbesStopWithTheMonitor() async throws {
        try await with { ground in
            check(try await eventually { ground.server.exchanges.count >= 2 })
            await ground.apple.health.drain()
            let count = ground.server.exchanges.count
            #expect(await ground.call()?.kind == .refused)
            #expect(ground.server.exchanges.count == count + 1)
        }
    }

    @Test func aKeyThatAppleRefusesIsNamedAndNoOutage() async throws {
        try await with(probes: false) { ground in
            func line(_ value: Int) -> String {
                #"holdfast_apple_key_refused{app="demo",environment="production"} \#(value).0"#
            }
            check(ground.metrics.exposition().contains(line(0)))
            ground.mood.set { answer(401, "") }
            for _ in 0..<4 { _ = await ground.call() }
            #expect(ground.health == .fine)
            #expect(ground.changes().isEmpty)
            check(ground.metrics.exposition().contains(line(1)))
            let refused = ground.log.all.filter { $0.contains("Apple refuses the key of this app") }
            #expect(refused.count == 1)
            func since() -> Timestamp? {
                ground.apple.health.statuses.first { $0.store.environment == .production }?.keyRefusedSince
            }
            #expect(since() != nil)
            #expect(ground.apple.health.isKeyRefused(of: Self.app, .production))
            #expect(!ground.apple.health.isKeyRefused(of: Self.app, .sandbox))

            ground.mood.set { Mood.notFound }
            _ = await ground.call()
            check(ground.metrics.exposition().contains(line(0)))
            check(ground.log.all.contains { $0.contains("Apple takes the key of this app again") })
            #expect(since() == nil)
            #expect(!ground.apple.health.isKeyRefused(of: Self.app, .production))
        }
    }

    @Test("Invariant 7: an outage of one environment is none of the other")
    func environmentsAreApart() async throws {
        try await with(probes: false) { ground in
            ground.mood.set { answer(500, "") }
            for _ in 0..<3 { _ = await ground.call() }
            #expect(ground.health == .unreachable)
            #expect(ground.apple.health.health(of: Self.app, .sandbox) == .notAsked)
            #expect(ground.changes(.sandbox).isEmpty)
        }
    }

    @Test func aWallClockThatIsSetChangesNothing() async throws {
        try await with(probes: false, { $0.goodCalls = 2 }) { ground in
            _ = await ground.call()
            let began = ground.clock.now
            ground.mood.set { answer(500, "") }
            _ = await ground.call()
            ground.clock.now = began + .seconds(10 * 366 * 86_400)
            #expect(ground.health == .degraded)
            for _ in 0..<2 { _ = await ground.call() }
            #expect(ground.health == .unreachable)
            ground.clock.now = began - .seconds(10 * 366 * 86_400)
            #expect(ground.health == .unreachable)
            ground.mood.set { Mood.notFound }
            _ = await ground.call()
            #expect(ground.health == .unreachable)
            _ = await ground.call()
            #expect(ground.health == .fine)
            // By the clock as it is now, the outage began a few seconds or minutes ago and not years ahead.
            let change = try #require(ground.changes().first)
            let outageBegan = try #require(change.outageBegan)
            #expect(change.at - outageBegan >= .zero)
            #expect(change.at - outageBegan < .seconds(3600))
        }
    }

    @Test func whoFollowsHearsEveryChangeInItsOrderAndTheListIsBounded() async throws {
        var settings = AppleHealthSettings()
        settings.calm = .zero
        settings.goodCalls = 1
        settings.changesKept = 10
        let monitor = AppleHealthMonitor(settings: settings)
        let changes = monitor.changes()
        let now = ContinuousClock.now
        for number in 0..<100 {
            let isGood = number % 2 == 1
            monitor.note(
                ServerAPIOutcome(
                    .statuses, failure: isGood ? nil : ServerAPIFailure(.server, .statuses, "", status: 500),
                    sentAt: now + .seconds(2 * number), endedAt: now + .seconds(2 * number + 1)),
                app: Self.app, environment: .production)
        }
        await monitor.drain()
        var numbers: [UInt64] = []
        for await change in changes { numbers.append(change.number) }
        #expect(numbers == Array(1...100))
        #expect(monitor.recentChanges.map(\.number) == Array(91...100).reversed())
        // Whoever comes after the end waits for nothing.
        for await _ in monitor.changes() { Issue.record("there is nothing more to hear") }
    }

    @Test func theOperatorsPageSaysHowAppleDoesSinceWhenAndWhy() async throws {
        try await with(probes: false) { ground in
            for _ in 0..<2 { _ = await ground.call() }
            ground.mood.set { answer(500, "") }
            for _ in 0..<3 { _ = await ground.call() }
            let page = try JSONValue.parse(ground.apple.health.json)
            let stores = page["stores"]?.array ?? []
            let apps = stores.compactMap { $0["app"]?.string }
            #expect(apps == ["demo", "demo", "keyless", "keyless"])
            let demo = try #require(stores.first)
            #expect(demo["environment"]?.string == "production")
            #expect(demo["health"]?.string == "unreachable")
            #expect(demo["level"]?.string == "B")
            #expect(demo["cause"]?.string?.contains("500") == true)
            #expect(demo["failuresInRow"]?.int64 == 3)
            for name in ["since", "outageBegan", "lastCall", "lastGoodCall"] {
                check(demo[name]?.string.flatMap { Timestamp(rfc3339: $0) } != nil, name)
            }
            let keyless = try #require(stores.last)
            #expect(keyless["health"]?.string == "notAsked")
            #expect(keyless["level"]?.string == "S")
            #expect(keyless["hasKey"]?.bool == false)
            let changes = page["changes"]?.array ?? []
            let levels = changes.compactMap { $0["to"]?.string }
            #expect(levels == ["unreachable", "degraded"])
            #expect(changes.first?["trouble"]?.string == "server")
        }
    }
}
