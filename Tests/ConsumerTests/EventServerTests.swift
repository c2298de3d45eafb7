import AppStore
import CacheTier
import Entitlements
import Runtime
import TestSupport
import Testing

@testable import Broker
@testable import Consumer

@Suite("Events on real servers", .timeLimit(.minutes(6))) struct EventServerTests {
    /// A queue of somebody else's that gets every event of the app.
    private func listen(_ stage: Stage, _ event: String = "#", arguments: [(String, Topology.Argument)] = [])
        async throws -> String
    {
        let queue = "\(stage.broker.prefix).listener"
        try await stage.inspector.declareTopology()
        try await stage.inspector.run { [names = stage.broker.names, app = stage.app] connection throws(BrokerError) in
            try connection.declare(
                Topology.Queue(
                    name: queue,
                    arguments: [("x-queue-type", .text("quorum"))] + arguments.map { (name: $0.0, value: $0.1) }))
            try connection.bind(
                Topology.Binding(queue: queue, exchange: names.events, routingKey: "\(app).sandbox.\(event)"))
        }
        return queue
    }

    private func remove(_ queue: String, _ stage: Stage) async throws {
        try await stage.inspector.run { connection throws(BrokerError) in try connection.deleteQueue(queue) }
    }

    private func ids(in queue: String, _ stage: Stage) async throws -> [String] {
        try await stage.inspector.peek(queue, limit: 10_000).compactMap(\.message.messageID)
    }

    @Test func aBoundQueueGetsTheEventsItAsksFor() async throws {
        try await Stage.with { stage in
            let queue = try await listen(stage, "subscription.*")
            let consumer = try stage.consumer()
            try await consumer.start()
            try await stage.send(try Forge.notification("SUBSCRIBED", "INITIAL_BUY", lineage: "1"))
            try await stage.send(try Forge.testNotification())
            try await stage.send(try Forge.notification("DID_RENEW", lineage: "2"))
            check(try await eventually { stage.count("applied") + stage.count("noted") == 3 })
            await consumer.drain()
            let events = try await stage.inspector.take(queue, limit: 10).map(\.message)
            #expect(Set(events.map(\.type)) == ["subscription.started", "subscription.renewed"])
            check(events.allSatisfy { $0.contentType == "application/json" && $0.messageID?.contains(":") == true })
            try await remove(queue, stage)
        }
    }

    @Test("Every notification's event arrives at least once although the broker is killed in the middle")
    func noEventIsLostWhenTheBrokerIsKilled() async throws {
        try await RabbitMQServer.withOwn { server in
            try await Stage.with(rabbit: server) { stage in
                let queue = try await listen(stage, "subscription.started")
                // RabbitMQ forgets a queue that was made within the second before it is killed.
                try await Task.sleep(for: BrokerSettings().topologySettleTime)
                let count = 150
                var expected: Set<String> = []
                for number in 0..<count {
                    let uuid = "uuid-\(number)"
                    try await stage.send(
                        try Forge.notification("SUBSCRIBED", "INITIAL_BUY", lineage: "\(number)", uuid: uuid))
                    expected.insert("\(uuid):subscription.started")
                }
                let consumer = try stage.consumer()
                try await consumer.start()
                check(try await eventually { stage.count("applied") >= 20 })
                try await server.kill()
                try await server.start()
                check(
                    try await eventually(within: .seconds(60)) {
                        Set(try await ids(in: queue, stage)).isSuperset(of: expected)
                    })
                await consumer.drain()
                #expect(try await stage.waiting() == 0)
                #expect(try await stage.applied(count) == count)
            }
        }
    }

    @Test("Invariant 2: a full queue of somebody else's holds up no notification")
    func aFullQueueHoldsUpNoNotification() async throws {
        try await Stage.with { stage in
            let queue = try await listen(
                stage, arguments: [("x-overflow", .text("reject-publish")), ("x-max-length", .number(1))])
            let consumer = try stage.consumer()
            try await consumer.start()
            try await stage.sendLineages(40)
            // Applied at once, whatever becomes of their events.
            check(try await eventually { try await stage.applied(40) == 40 })
            check(try await eventually { stage.count("retry") >= 20 })
            #expect(!stage.isResting)
            await consumer.drain()
            try await remove(queue, stage)
        }
    }
}
