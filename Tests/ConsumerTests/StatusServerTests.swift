import AppStore
import Broker
import CacheTier
import Entitlements
import HTTP
import Runtime
import Simulator
import TestSupport
import Testing
import Time

import struct Simulator.StoreSettings

@testable import Consumer

/// Apple's answers on their way through the real line: asked of the simulator, applied from the real queue to the real
/// store.
@Suite("Apple's answers on real servers", .timeLimit(.minutes(6))) struct StatusServerTests {
    private static let customer = "0000000a-0000-4000-8000-00000000000a"

    @Test func whatAppleAnswersIsAppliedFromTheQueue() async throws {
        let identity = try SimulatorIdentity(makingAt: Forge.now)
        let clock = WallClock { Forge.now }
        let loops = [try EventLoop(name: "store"), try EventLoop(name: "server"), try EventLoop(name: "client")]
        let catalog = try StoreKitFile.parse(try File.bytes(at: "\(Command.packageFolder)/ops/demo.storekit"))
        var settings = StoreSettings()
        settings.bundleID = Forge.identity.bundleID
        settings.environment = .sandbox
        let simulator = Simulator(
            settings: SimulatorSettings(store: settings, catalog: catalog, notificationURL: "http://127.0.0.1:1/"),
            identity: identity, loop: loops[0], serverLoops: [loops[1]], clock: clock, log: .discarding)
        try await simulator.start()
        let http = HTTPClient(loop: loops[2])
        var api = ServerAPISettings()
        api.sandboxURL = simulator.url
        let client = ServerAPIClient(
            bundleID: settings.bundleID, environment: .sandbox,
            key: ServerAPIKey(keyID: identity.keyID, issuerID: identity.issuerID, key: identity.apiKey),
            settings: api, http: http, budget: UnlimitedCalls(), clock: clock)
        let inquiry = StatusInquiry(
            client: client, verifier: JWSVerifier(roots: try TrustedRoots(der: [identity.authority.rootDER])),
            identity: Forge.identity, clock: clock)
        let result: Result<Void, any Error>
        do { result = .success(try await apply(simulator, inquiry, identity.authority)) } catch {
            result = .failure(error)
        }
        await http.close()
        await simulator.drain()
        for loop in loops { loop.stop() }
        try result.get()
    }

    private func apply(
        _ simulator: Simulator, _ inquiry: StatusInquiry, _ authority: CertificateAuthority
    ) async throws {
        _ = try await simulator.createAccount(Self.customer)
        _ = try await simulator.perform(.buy("demo.premium.monthly"), for: Self.customer)
        _ = try await simulator.perform(.buy("demo.lifetime"), for: Self.customer)
        let truths = await simulator.truth(of: Self.customer)
        #expect(truths.count == 2)
        try await Stage.with { stage in
            let consumer = try stage.consumer(authority: authority)
            try await consumer.start()
            for truth in truths {
                let lineage = LineageID(
                    app: AppID(stage.app), environment: .sandbox, originalTransactionID: truth.originalTransactionID)
                let renews = truth.type == "Auto-Renewable Subscription"
                let question = StatusQuestion(
                    lineage: lineage, call: renews ? .statuses : .transaction, transactionID: truth.transactionID)
                let answer = try await inquiry.ask(question, for: .reconcile, .sweep)
                try await stage.publisher.publish(
                    BrokerMessage(statuses: answer.message, correlation: "c"), to: stage.broker.names.intake)
                check(try await eventually { try await stage.store.find(lineage) != nil })
                let found = try #require(try await stage.store.find(lineage))
                #expect(found.holders == [.customer(Self.customer)])
                #expect(found.record.status?.status == (renews ? 1 : nil))
                #expect(found.record.evaluated(at: Forge.now, map: ProductMap()).state == .active)
                let history = try await stage.store.history(of: lineage)
                #expect(history.map(\.kind) == [.transition, .transfer])
                #expect(Set(history.map(\.cause)) == [.answer])
                #expect(Set(history.map(\.source)) == [.status])
            }
            await consumer.drain()
            #expect(stage.count("applied") == 2)
        }
    }
}
