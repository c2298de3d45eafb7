import AppStore
import CacheTier
import Entitlements
import JSON
import Runtime
import Simulator
import TestSupport
import Testing
import Time

@testable import Consumer

/// Another product map, from its publication to Apple's answer.
@Suite(.timeLimit(.minutes(6))) struct MapSweepTests {
    private static let monthly = "demo.premium.monthly"
    private static let yearly = "demo.premium.yearly"

    private func with(_ body: (OutageLine, SimulatedApple) async throws -> Void) async throws {
        let clock = HandSetClock()
        let identity = try SimulatorIdentity(makingAt: clock.now)
        let verifier = NotificationVerifier(JWSVerifier(roots: try TrustedRoots(der: [identity.authority.rootDER])))
        try await OutageLine.with(clock: clock, verifier: verifier) { line in
            try await SimulatedApple.with(notificationURL: line.notificationURL, clock: clock, identity: identity) {
                try await body(line, $0)
            }
        }
    }

    @Test func whatAnotherMapConcernsIsAskedAboutThoughItsTimeHasNotCome() async throws {
        try await with { line, apple in
            let loop = try EventLoop(name: "sweep-clients")
            defer { loop.stop() }
            let clients = line.clients(of: apple, loop: loop)
            let lines = Lines()
            let services: [any Service] = [
                line.consumer(apple.verifier), clients,
                line.reconciler(clients, apple.verifier, log: Log(part: "test", minimum: .info, sink: lines.sink)),
            ]
            for service in services { try await service.start() }
            let result: Result<Void, any Error>
            do { result = .success(try await sweep(line, apple, lines)) } catch { result = .failure(error) }
            for service in services.reversed() { await service.drain() }
            try result.get()
        }
    }

    private func sweep(_ line: OutageLine, _ apple: SimulatedApple, _ lines: Lines) async throws {
        var lineages: [String: String] = [:]
        for product in [Self.monthly, Self.yearly] {
            let account = try await apple.simulator.createAccount()
            try await apple.simulator.perform(.buy(product), for: account)
            let hasIt = try await eventually { try await line.active(account) == ["premium"] }
            #expect(hasIt)
            let subscriptions = try await line.read(account)["subscriptions"]?.array
            lineages[product] = try #require(subscriptions?.first?["originalTransactionId"]?.string)
        }
        var products = OutageLine.map.products
        products[Self.monthly] = ProductMap.Product(entitlements: ["premium", "extra"])
        _ = try await ProductMapStore(redis: line.stage.redis).publish(
            ProductMapDocument(products: products), for: line.app, expecting: 0,
            first: ProductMapDocument(products: OutageLine.map.products), by: "tests", comment: "", at: line.clock.now)
        var settings = ProductMapSettings()
        settings.followEvery = .milliseconds(1)
        let recomputer = ProductMapRecomputer(
            redis: line.stage.redis, settings: settings, clock: line.clock.wall, announce: { _ in })
        guard case .done(let done) = try await recomputer.run(line.app, policy: .standard) else {
            Issue.record("somebody else is at it")
            return
        }
        #expect(done.first?[.production].swept == 1)
        let asked = try await eventually { !Self.asked(lines).isEmpty }
        #expect(asked)
        #expect(Self.asked(lines) == [lineages[Self.monthly]])
    }

    private static func asked(_ lines: Lines) -> Set<String?> {
        let audit = lines.all.filter { $0["event"]?.string == "Apple was asked about a lineage" }
        return Set(audit.map { $0["lineage"]?.string })
    }
}
