import Broker
import Runtime
import Synchronization
import TestSupport
import Testing

/// What became of the publishes of several tasks.
private final class Outcomes: Sendable {
    private let state = Mutex((confirmed: Set<String>(), failures: 0))
    var confirmed: Set<String> { state.withLock { $0.confirmed } }
    var failures: Int { state.withLock { $0.failures } }

    func add(_ text: String, _ error: BrokerError.Code?) {
        state.withLock { state in
            if error == nil { state.confirmed.insert(text) } else { state.failures += 1 }
        }
    }
}

/// One server for all of these, which therefore run one after the other.
@Suite(.serialized, .timeLimit(.minutes(6)))
struct FailureTests {
    private static let server = Task { try await RabbitMQServer() }

    /// What a test that failed half-way left behind must not fail the next.
    private static func healthyServer() async throws -> RabbitMQServer {
        let server = try await server.value
        try await server.makeUsable()
        return server
    }

    private func withPublisher(
        _ adjust: (inout BrokerSettings) -> Void = { _ in },
        _ body: (RabbitMQServer, BrokerPublisher, BrokerSettings, BrokerInspector) async throws -> Void
    ) async throws {
        let server = try await Self.healthyServer()
        var settings = BrokerSettings(server)
        settings.reconnectMaximum = .milliseconds(500)
        settings.confirmTimeout = .seconds(2)
        settings.healthLimit = .milliseconds(500)
        adjust(&settings)
        let publisher = try BrokerPublisher(settings: settings, metrics: Metrics(), log: .discarding)
        try await publisher.start()
        try await body(server, publisher, settings, BrokerInspector(settings: settings))
        await publisher.drain()
    }

    /// Publishes until the message is confirmed, as the drainer of a spool does; returns how often it took.
    private static func insist(_ publisher: BrokerPublisher, _ text: String, _ settings: BrokerSettings) async throws {
        let isDone = try await eventually(within: .seconds(60)) {
            await errorCode { () throws(BrokerError) in
                try await publisher.publish(BrokerMessage(text), to: settings.names.intake)
            } == nil
        }
        try #require(isDone, "\(text) was never confirmed")
    }

    @Test("Invariant 1: killed in the middle of a burst, the broker has all that was confirmed")
    func aKilledBrokerHasAllThatWasConfirmed() async throws {
        try await withPublisher({ $0.topologySettleTime = BrokerSettings().topologySettleTime }) {
            server, publisher, settings, inspector in
            let outcomes = Outcomes()
            try await withThrowingTaskGroup { group in
                for writer in 0..<64 {
                    group.addTask {
                        for number in 0..<200 {
                            let text = "\(writer)-\(number)"
                            let error = await errorCode { () throws(BrokerError) in
                                try await publisher.publish(BrokerMessage(text), to: settings.names.intake)
                            }
                            outcomes.add(text, error)
                            if error != nil { return }
                        }
                    }
                }
                let hasBegun = try await eventually { outcomes.confirmed.count > 300 }
                #expect(hasBegun)
                try await server.kill()
                // Every call came back: confirmed, or an error.
                try await group.waitForAll()
            }
            #expect(outcomes.failures > 0)
            #expect(!publisher.isHealthy)
            try await server.start()

            try await Self.insist(publisher, "after", settings)
            #expect(publisher.isHealthy)
            let wanted = outcomes.confirmed.union(["after"])
            let applied = try await inspector.take(settings.names.apply, limit: .max)
            #expect(wanted.subtracting(applied.map(\.message.text)).isEmpty)
            let kept = try await inspector.readLedger()
            #expect(wanted.subtracting(kept.map(\.message.text)).isEmpty)
        }
    }

    @Test func aStoppedBrokerFailsPublishesWithinTheirDeadlineAndRecovers() async throws {
        try await withPublisher { server, publisher, settings, _ in
            try await server.pause()
            let clock = ContinuousClock()
            let begun = clock.now
            let errors = await publisher.publish((0..<20).map { BrokerMessage("\($0)") }, to: settings.names.intake)
            check(errors.allSatisfy { $0?.code == .timedOut })
            #expect(clock.now - begun >= settings.confirmTimeout)
            #expect(clock.now - begun < settings.confirmTimeout + settings.writeTimeout + .seconds(10))
            #expect(!publisher.isHealthy)
            try await server.resume()
            // What was outstanding is its own probe: its confirms make the publisher healthy without a new publish.
            let isHealthy = try await eventually { publisher.isHealthy }
            #expect(isHealthy)
            try await publisher.publish(BrokerMessage("after"), to: settings.names.intake)
        }
    }

    @Test func aStoppedBrokerAndFullBuffersHoldNobodyBeyondTheDeadline() async throws {
        try await withPublisher({ $0.writeTimeout = .milliseconds(500) }) { server, publisher, settings, _ in
            try await server.pause()
            let body = [UInt8](repeating: 7, count: 250_000)
            let errors = await publisher.publish(
                (0..<150).map { _ in BrokerMessage(body: body) }, to: settings.names.intake)
            // Held up in a write or not, none was confirmed and all came back.
            check(errors.allSatisfy { $0?.code == .timedOut || $0?.code == .unreachable })
            #expect(!publisher.isHealthy)
            try await server.resume()
            try await Self.insist(publisher, "after", settings)
        }
    }

    @Test func anAlarmBlocksAtOnceAndItsEndUnblocks() async throws {
        try await withPublisher { server, publisher, settings, _ in
            try await server.raiseMemoryAlarm()
            let isBlocked = try await eventually {
                await errorCode { () throws(BrokerError) in
                    try await publisher.publish(BrokerMessage("x"), to: settings.names.intake)
                } == .blocked
            }
            #expect(isBlocked)
            #expect(!publisher.isHealthy)
            try await server.clearMemoryAlarm()
            let isHealthy = try await eventually { publisher.isHealthy }
            #expect(isHealthy)
            try await publisher.publish(BrokerMessage("after"), to: settings.names.intake)
        }
    }

    @Test func anAlarmIsEnduredForAsLongAsItLasts() async throws {
        try await withPublisher({
            $0.heartbeat = .seconds(1)
            $0.stallLimit = .seconds(1)
        }) { server, publisher, settings, _ in
            try await server.raiseMemoryAlarm()
            let isBlocked = try await eventually {
                await errorCode { () throws(BrokerError) in
                    try await publisher.publish(BrokerMessage("x"), to: settings.names.intake)
                } == .blocked
            }
            #expect(isBlocked)
            // Longer than heartbeats and outstanding confirms are borne with otherwise: the connection stays.
            try await Task.sleep(for: .seconds(4))
            let code = await errorCode { () throws(BrokerError) in
                try await publisher.publish(BrokerMessage("y"), to: settings.names.intake)
            }
            #expect(code == .blocked)
            try await server.clearMemoryAlarm()
            let isHealthy = try await eventually { publisher.isHealthy }
            #expect(isHealthy)
        }
    }

    @Test func whatWasInHandWhenTheConnectionWasLostIsDeliveredAgain() async throws {
        try await withPublisher({ $0.prefetch = 10 }) { server, publisher, settings, inspector in
            let (gate, seen, metrics) = (Gate(), Seen(), Metrics())
            let subscription = try BrokerSubscription(
                queue: settings.names.apply, settings: settings, metrics: metrics, log: .discarding
            ) { delivery in
                await gate.pass()
                seen.append(delivery)
                return .acknowledge
            }
            let errors = await publisher.publish((0..<30).map { BrokerMessage("\($0)") }, to: settings.names.intake)
            let isPublished = errors.allSatisfy { $0 == nil }
            try #require(isPublished)
            try await subscription.start()
            let isFull = try await eventually { gate.inside == 10 }
            #expect(isFull)
            try await server.control("close_all_connections", "a test")
            // The time without a connection may be too short to be seen; that there was a second one is not.
            let isBack = try await eventually {
                metrics.exposition().split(separator: "\n").contains {
                    $0.hasPrefix("holdfast_broker_subscription_connections_total{") && $0.hasSuffix(" 2")
                }
            }
            #expect(isBack)
            gate.open()
            let isDone = try await eventually { Set(seen.texts).count == 30 && seen.all.count >= 40 }
            #expect(isDone)
            // Ten were handled on behalf of the lost connection; acknowledging them was not possible.
            #expect(gate.most <= 10)
            await subscription.drain()
            #expect(metrics.exposition().contains("outcome=\"forgotten\"} 10"))
            #expect(metrics.exposition().contains("outcome=\"acknowledged\"} 30"))
            #expect(try await inspector.messageCount(of: settings.names.apply) == 0)
        }
    }

    @Test func heartbeatsKeepAnIdleConnectionAndFindADeadOne() async throws {
        try await withPublisher({ $0.heartbeat = .seconds(1) }) { server, publisher, settings, _ in
            // Longer than the server would bear silence.
            try await Task.sleep(for: .seconds(4))
            #expect(publisher.isHealthy)
            try await server.pause()
            let isFound = try await eventually { !publisher.isConnected }
            #expect(isFound)
            try await server.resume()
            try await Self.insist(publisher, "after", settings)
        }
    }
}
