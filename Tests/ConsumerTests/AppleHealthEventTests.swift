import AppStore
import Broker
import Entitlements
import JSON
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import Consumer

/// Apple's health, told to others.
@Suite(.timeLimit(.minutes(6))) struct AppleHealthEventTests {
    private let app = AppID("demo")

    /// Takes nothing at first.
    private final class LatePublisher: MessagePublisher {
        private let state: Mutex<(refusals: Int, published: [(key: String, message: BrokerMessage)])>
        init(refusing times: Int) { state = Mutex((times, [])) }
        var isConnected: Bool { true }
        var published: [(key: String, message: BrokerMessage)] { state.withLock { $0.published } }

        func publish(
            _ message: BrokerMessage, to exchange: String, routingKey: String, mandatory: Bool
        ) async throws(BrokerError) {
            let refuses = state.withLock { state in
                if state.refusals > 0 {
                    state.refusals -= 1
                    return true
                }
                state.published.append((routingKey, message))
                return false
            }
            if refuses { throw BrokerError(.nacked, "not yet") }
        }
    }

    private func monitor() -> AppleHealthMonitor {
        var settings = AppleHealthSettings()
        settings.calm = .zero
        settings.goodCalls = 1
        return AppleHealthMonitor(settings: settings)
    }

    /// Three failures and an answer, a second each.
    private func outage(_ monitor: AppleHealthMonitor) {
        let now = ContinuousClock.now
        for second in 0..<4 {
            let failure = ServerAPIFailure(.timedOut, .statuses, "no answer")
            monitor.note(
                ServerAPIOutcome(
                    .statuses, failure: second < 3 ? failure : nil, sentAt: now + .seconds(second),
                    endedAt: now + .seconds(second + 1)), app: app, environment: .sandbox)
        }
    }

    private func told(refusing times: Int, publishes: Bool = true, count: Int) async throws -> LatePublisher {
        let publisher = LatePublisher(refusing: times)
        var settings = ConsumerSettings()
        settings.rest = .milliseconds(1)
        settings.publishEvents = publishes
        let events = AppleHealthEvents(
            publisher: publisher, names: BrokerNames(prefix: "test"), settings: settings, metrics: Metrics(),
            log: .discarding)
        let monitor = monitor()
        let follower = events.follower(of: monitor)
        outage(monitor)
        follower.start()
        check(try await eventually { publisher.published.count == count })
        await follower.drain()
        return publisher
    }

    private func texts(_ member: String, of bodies: [JSONValue]) -> [String] {
        bodies.compactMap { $0[member]?.string }
    }

    @Test func everyChangeIsToldInItsOrder() async throws {
        let published = try await told(refusing: 0, count: 3).published
        #expect(Set(published.map(\.key)) == ["demo.sandbox.apple.health"])
        let bodies = try published.map { try JSONValue.parse($0.message.body) }
        #expect(texts("to", of: bodies) == ["degraded", "unreachable", "fine"])
        #expect(texts("level", of: bodies) == ["A", "B", "S"])
        #expect(texts("trouble", of: bodies) == ["timedOut", "timedOut"])
        let first = try #require(bodies.first)
        #expect(first["event"]?.string == "apple.health")
        #expect(first["app"]?.string == "demo")
        #expect(first["environment"]?.string == "sandbox")
        #expect(first["cause"]?.string?.contains("no answer") == true)
        check(first["outageBegan"]?.string.flatMap { Timestamp(rfc3339: $0) } != nil)
        #expect(Set(texts("observer", of: bodies)).count == 1)
        let ids = published.compactMap(\.message.messageID)
        #expect(Set(ids).count == 3)
        #expect(ids == texts("id", of: bodies))
    }

    @Test func whatTheBrokerDoesNotTakeIsToldLaterAndInItsOrder() async throws {
        let published = try await told(refusing: 4, count: 3).published
        let bodies = try published.map { try JSONValue.parse($0.message.body) }
        #expect(texts("to", of: bodies) == ["degraded", "unreachable", "fine"])
    }

    @Test func nothingIsToldWhereEventsAreTurnedOff() async throws {
        let publisher = LatePublisher(refusing: 0)
        var settings = ConsumerSettings()
        settings.publishEvents = false
        let events = AppleHealthEvents(
            publisher: publisher, names: BrokerNames(prefix: "test"), settings: settings, metrics: Metrics(),
            log: .discarding)
        let monitor = monitor()
        outage(monitor)
        for change in monitor.recentChanges { await events.tell(change) }
        #expect(monitor.recentChanges.count == 3)
        #expect(publisher.published.isEmpty)
    }

    @Test func whoeverIsToStopDoesNotWaitForTheBroker() async throws {
        let publisher = LatePublisher(refusing: .max)
        var settings = ConsumerSettings()
        settings.rest = .seconds(3600)
        let events = AppleHealthEvents(
            publisher: publisher, names: BrokerNames(prefix: "test"), settings: settings, metrics: Metrics(),
            log: .discarding)
        let monitor = monitor()
        let follower = events.follower(of: monitor)
        outage(monitor)
        follower.start()
        await follower.drain()
        #expect(publisher.published.isEmpty)
    }
}
