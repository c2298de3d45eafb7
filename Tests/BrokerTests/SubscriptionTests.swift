import Broker
import Runtime
import Synchronization
import TestSupport
import Testing

/// Handlers stop here until the test lets them go on.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var inside = 0
        var most = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var inside: Int { state.withLock { $0.inside } }
    var most: Int { state.withLock { $0.most } }

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                state.inside += 1
                state.most = max(state.most, state.inside)
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
        state.withLock { $0.inside -= 1 }
    }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

/// What handlers have seen.
final class Seen: Sendable {
    private let deliveries = Mutex<[BrokerDelivery]>([])
    func append(_ delivery: BrokerDelivery) { deliveries.withLock { $0.append(delivery) } }
    var all: [BrokerDelivery] { deliveries.withLock { $0 } }
    var texts: [String] { all.map(\.message.text) }
}

@Suite(.timeLimit(.minutes(6)))
struct SubscriptionTests {
    private func subscription(
        _ settings: BrokerSettings, metrics: Metrics = Metrics(), _ handler: @escaping BrokerSubscription.Handler
    ) throws -> BrokerSubscription {
        try BrokerSubscription(
            queue: settings.names.apply, settings: settings, metrics: metrics, log: .discarding, handler: handler)
    }

    private func fill(_ publisher: BrokerPublisher, _ settings: BrokerSettings, _ count: Int) async throws {
        let errors = await publisher.publish((0..<count).map { BrokerMessage("\($0)") }, to: settings.names.intake)
        let isDone = errors.allSatisfy { $0 == nil }
        try #require(isDone)
    }

    @Test func everyMessageIsHandledOnceAndAcknowledged() async throws {
        try await withPublisher { publisher, settings, inspector in
            let (seen, metrics) = (Seen(), Metrics())
            let subscription = try subscription(settings, metrics: metrics) { delivery in
                seen.append(delivery)
                return .acknowledge
            }
            try await subscription.start()
            try await fill(publisher, settings, 500)
            let isDone = try await eventually { seen.all.count == 500 }
            #expect(isDone)
            await subscription.drain()
            #expect(Set(seen.texts).count == 500)
            #expect(try await inspector.messageCount(of: settings.names.apply) == 0)
            let text = metrics.exposition()
            #expect(text.contains("outcome=\"acknowledged\"} 500"))
            #expect(text.contains("holdfast_broker_in_hand{subscription=\"broker-subscription\"} 0.0"))
        }
    }

    @Test("Invariant 10: no more handlers run than the prefetch allows; the broker keeps the rest")
    func prefetchBoundsWhatIsInHand() async throws {
        try await withPublisher({ $0.prefetch = 7 }) { publisher, settings, inspector in
            let (gate, seen) = (Gate(), Seen())
            try await fill(publisher, settings, 50)
            let subscription = try subscription(settings) { delivery in
                await gate.pass()
                seen.append(delivery)
                return .acknowledge
            }
            try await subscription.start()
            let isFull = try await eventually { gate.inside == 7 }
            #expect(isFull)
            #expect(try await inspector.messageCount(of: settings.names.apply) == 43)
            gate.open()
            let isDone = try await eventually { seen.all.count == 50 }
            #expect(isDone)
            #expect(gate.most == 7)
            await subscription.drain()
        }
    }

    @Test func drainingSettlesWhatIsInHandAndLeavesTheRest() async throws {
        try await withPublisher({ $0.prefetch = 5 }) { publisher, settings, inspector in
            let (gate, seen) = (Gate(), Seen())
            try await fill(publisher, settings, 20)
            let subscription = try subscription(settings) { delivery in
                await gate.pass()
                seen.append(delivery)
                return .acknowledge
            }
            try await subscription.start()
            let isFull = try await eventually { gate.inside == 5 }
            #expect(isFull)
            async let drained: Void = subscription.drain()
            // Draining waits for the handlers, so it cannot be over before they are let go.
            gate.open()
            await drained
            let left = try await inspector.take(settings.names.apply, limit: 100)
            #expect(seen.all.count + left.count == 20)
            #expect(Set(seen.texts + left.map(\.message.text)).count == 20)
            check(left.allSatisfy { !$0.isRedelivered })
        }
    }

    @Test func whatIsRequeuedComesAgainAndIsCounted() async throws {
        try await withPublisher { publisher, settings, inspector in
            let seen = Seen()
            let subscription = try subscription(settings) { delivery in
                seen.append(delivery)
                return delivery.deliveryCount < 2 ? .requeue : .acknowledge
            }
            try await subscription.start()
            try await fill(publisher, settings, 1)
            let isDone = try await eventually { seen.all.count == 3 }
            #expect(isDone)
            await subscription.drain()
            #expect(seen.all.map(\.deliveryCount) == [0, 1, 2])
            #expect(seen.all.map(\.isRedelivered) == [false, true, true])
            #expect(try await inspector.messageCount(of: settings.names.apply) == 0)
        }
    }

    @Test func aQueueDeletedAndDeclaredAgainIsConsumedAgain() async throws {
        try await withPublisher({ $0.reconnectMaximum = .milliseconds(200) }) { publisher, settings, inspector in
            let seen = Seen()
            let subscription = try subscription(settings) { delivery in
                seen.append(delivery)
                return .acknowledge
            }
            try await subscription.start()
            try await inspector.deleteTopology()
            try await inspector.declareTopology()
            let isBack = try await eventually { subscription.isConnected && publisher.isHealthy }
            #expect(isBack)
            try await fill(publisher, settings, 3)
            let isDone = try await eventually { seen.all.count == 3 }
            #expect(isDone)
            await subscription.drain()
        }
    }
}
