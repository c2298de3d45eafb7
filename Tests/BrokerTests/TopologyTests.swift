import Runtime
import TestSupport
import Testing

@testable import Broker

@Suite(.timeLimit(.minutes(6)))
struct TopologyTests {
    /// The table that operators see; a change here means queues of the old kind exist in the field.
    @Test func theTableIsAsDocumented() {
        let settings = BrokerSettings()
        let topology = Topology(settings)
        check(
            topology.exchanges.map { "\($0.name) \($0.kind)" } == ["holdfast.intake fanout", "holdfast.events topic"])
        #expect(
            topology.queues.map(\.name) == [
                "holdfast.apply", "holdfast.ledger", "holdfast.quarantine", "holdfast.retry.1s", "holdfast.retry.5s",
                "holdfast.retry.30s", "holdfast.retry.5m", "holdfast.retry.30m",
            ])
        for queue in topology.queues where queue.name != "holdfast.ledger" {
            let arguments = Dictionary(uniqueKeysWithValues: queue.arguments.map { ($0.name, $0.value) })
            #expect(arguments["x-queue-type"] == .text("quorum"))
            // Invariants 2 and 10: bounded, and full means refused, never dropped.
            #expect(arguments["x-overflow"] == .text("reject-publish"))
            #expect(arguments["x-max-length"] != nil)
            #expect(arguments["x-delivery-limit"] == nil)
        }
        #expect(topology.bindings.map(\.queue) == ["holdfast.apply", "holdfast.ledger"])
    }

    @Test func declaringTwiceChangesNothing() async throws {
        let inspector = BrokerInspector(settings: BrokerSettings(try await RabbitMQServer.shared()))
        try await inspector.declareTopology()
        try await inspector.declareTopology()
        try await inspector.deleteTopology()
    }

    @Test func aQueueWithOtherArgumentsStopsTheStartAndIsNamed() async throws {
        try await withPublisher { _, settings, _ in
            var other = settings
            other.quarantineMaximumLength = 5
            let publisher = try BrokerPublisher(settings: other, metrics: Metrics(), log: .discarding)
            let error = await #expect(throws: BrokerError.self) { try await publisher.start() }
            #expect(error?.code == .topologyMismatch)
            #expect(
                error?.detail.hasPrefix("the queue \(settings.names.quarantine) exists with another x-max-length")
                    == true)
            #expect(error?.detail.contains("rabbitmqctl delete_queue \(settings.names.quarantine)") == true)
            await publisher.drain()
        }
    }

    @Test func whatWaitedAtARetryLevelComesBackWithItsHeaders() async throws {
        try await withPublisher { publisher, settings, inspector in
            let names = settings.names
            let message = BrokerMessage("again", headers: ["attempt": "1", "correlation": "c"])
            try await publisher.publish(message, to: "", routingKey: names.retry(.after(attempts: 1)))
            #expect(try await inspector.messageCount(of: names.apply) == 0)
            let isBack = try await eventually { try await inspector.messageCount(of: names.apply) == 1 }
            #expect(isBack)
            let back = try await inspector.take(names.apply, limit: 1).first?.message
            #expect(back?.text == "again")
            #expect(back?.headers["attempt"] == "1")
            #expect(back?.headers["correlation"] == "c")
        }
    }
}
