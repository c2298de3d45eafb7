import AppStore
import CacheTier
import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import Broker
@testable import Consumer

/// When the consumer takes in work, and when it rests.
@Suite("Consumer", .timeLimit(.minutes(6))) struct RestTests {
    /// A subscription without a broker: the test gives it deliveries.
    private final class Subscription: Service {
        let name = "subscription"
        let handler: ApplyConsumer.Handler
        let state = Mutex((started: false, drained: false))

        init(_ handler: @escaping ApplyConsumer.Handler) { self.handler = handler }
        func start() async throws { state.withLock { $0.started = true } }
        func drain() async { state.withLock { $0.drained = true } }
        var isDrained: Bool { state.withLock { $0.drained } }
    }

    private final class Backstage: Sendable {
        let state = Mutex((isReady: true, looks: 0, subscriptions: [Subscription]()))
        /// How often the consumer has looked whether it can begin.
        var looks: Int { state.withLock { $0.looks } }
        var subscriptions: [Subscription] { state.withLock { $0.subscriptions } }
        func setReady(_ ready: Bool) { state.withLock { $0.isReady = ready } }

        func consumer(store: ScriptedStore, publisher: RecordingPublisher = RecordingPublisher()) throws
            -> ApplyConsumer
        {
            var settings = ConsumerSettings()
            settings.rest = .milliseconds(10)
            let handler = DeliveryHandler(
                apps: [AppID("demo"): ConsumerApp(identity: Forge.identity)], verifier: try Forge.verifier(),
                store: store, publisher: publisher, names: BrokerNames(prefix: "t"), settings: settings,
                metrics: Metrics(), clock: WallClock { Forge.now }, log: .discarding)
            return ApplyConsumer(handler: handler) {
                self.state.withLock { state in
                    state.looks += 1
                    return state.isReady
                }
            } subscribe: { handler in
                let subscription = Subscription(handler)
                self.state.withLock { $0.subscriptions.append(subscription) }
                return subscription
            }
        }
    }

    @Test func aFailingStoreEndsTheIntakeAndItsReturnBeginsItAgain() async throws {
        let stage = Backstage()
        let consumer = try stage.consumer(store: ScriptedStore(.failing))
        try await consumer.start()
        let first = try #require(stage.subscriptions.first)
        stage.setReady(false)
        #expect(await first.handler(.of(try Forge.notification(lineage: "1"))) == .acknowledge)
        check(try await eventually { first.isDrained })
        // It looks again and again, and does not begin while the store is away.
        let looks = stage.looks
        check(try await eventually { stage.looks > looks + 3 })
        #expect(stage.subscriptions.count == 1)
        stage.setReady(true)
        check(try await eventually { stage.subscriptions.count == 2 })
        await consumer.drain()
        #expect(stage.subscriptions.last?.isDrained == true)
    }

    @Test func aStoreThatIsConnectedAndTakesNoWritesGetsNoWork() async throws {
        let stage = Backstage()
        let store = ScriptedStore(.changed)
        store.refuse(.redis(RedisError(.refused, "OOM command not allowed")))
        let consumer = try stage.consumer(store: store)
        try await consumer.start()
        let looks = stage.looks
        check(try await eventually { stage.looks > looks + 3 })
        #expect(stage.subscriptions.isEmpty)
        store.refuse(nil)
        check(try await eventually { stage.subscriptions.count == 1 })
        await consumer.drain()
    }

    @Test func poisonDoesNotEndTheIntake() async throws {
        let stage = Backstage()
        let consumer = try stage.consumer(store: ScriptedStore(.changed))
        try await consumer.start()
        let first = try #require(stage.subscriptions.first)
        #expect(await first.handler(.of(Array("{}".utf8))) == .acknowledge)
        #expect(await first.handler(.of(try Forge.notification(lineage: "1"))) == .acknowledge)
        #expect(!first.isDrained)
        await consumer.drain()
        #expect(stage.subscriptions.count == 1)
    }

    @Test func itStartsRestingWhileTheStoreIsAway() async throws {
        let stage = Backstage()
        stage.setReady(false)
        let consumer = try stage.consumer(store: ScriptedStore(.changed))
        try await consumer.start()
        #expect(stage.subscriptions.isEmpty)
        stage.setReady(true)
        check(try await eventually { stage.subscriptions.count == 1 })
        await consumer.drain()
    }

    @Test func drainEndsARestAtOnce() async throws {
        let stage = Backstage()
        stage.setReady(false)
        let consumer = try stage.consumer(store: ScriptedStore(.changed))
        try await consumer.start()
        await consumer.drain()
        #expect(stage.subscriptions.isEmpty)
    }
}
