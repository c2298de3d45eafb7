import JSON
import Simulator
import TestSupport
import Testing

/// What must never happen: a notification is acknowledged and then its customer has no access.
///
/// One at a time: each burst wants the machine for itself.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LossTests {
    private static let burstSize = 5000
    private static let product = "demo.premium.yearly"

    /// Sends a burst, lets `harm` happen when a fifth of it has been acknowledged, and shows that every customer whose
    /// notification was acknowledged, at once or on a later try, has access in the end.
    private func surviving(_ harm: @escaping @Sendable (Line) async throws -> Void) async throws {
        try await Line.with { line in
            let burst = Task {
                try await line.simulator.burst(Self.burstSize, productID: Self.product, deadline: .seconds(240))
            }
            let begun = try await eventually(within: .seconds(120)) {
                try await line.metric("holdfast_intake_acknowledged_total", of: .gateway) >= Double(Self.burstSize / 5)
            }
            #expect(begun, "the burst did not begin")
            try await harm(line)
            let result = try await burst.value
            #expect(result.notifications.count == Self.burstSize)

            // Apple tries again what was not acknowledged.
            let delivered = try await eventually(within: .seconds(60)) {
                await line.simulator.deliveries().allSatisfy { $0.state == .delivered }
            }
            #expect(delivered, "some notifications were never acknowledged, however often they were sent")
            let acknowledged = await line.simulator.deliveries().filter { $0.state == .delivered }
            let customers = Set(acknowledged.compactMap(\.notification.account))
            #expect(customers.count == Self.burstSize)
            let lost = try await line.withoutAccess(Array(customers))
            let quarantined = try await line.metric("holdfast_consumer_quarantined_total", of: .consumer)
            #expect(lost.isEmpty, "\(lost.count) acknowledged and neither applied nor quarantined (\(quarantined) are)")
            #expect(quarantined == 0, "a sound notification was quarantined")
        }
    }

    @Test("Invariants 1 and 2: RabbitMQ killed in the middle of a burst loses nothing")
    func rabbitMQIsKilled() async throws {
        try await surviving { line in
            try await line.rabbitMQ.kill()
            // The gateway goes on acknowledging, by its spool.
            let before = try await line.metric("holdfast_intake_acknowledged_total", of: .gateway)
            let goesOn = try await eventually {
                try await line.metric("holdfast_intake_acknowledged_total", of: .gateway) >= before + 500
            }
            #expect(goesOn, "nothing was acknowledged without RabbitMQ")
            try await line.rabbitMQ.start()
        }
    }

    @Test("Invariants 1 and 2: Redis killed in the middle of a burst loses nothing")
    func redisIsKilled() async throws {
        try await surviving { line in
            try await line.redis.kill()
            let before = try await line.metric("holdfast_intake_acknowledged_total", of: .gateway)
            let goesOn = try await eventually {
                try await line.metric("holdfast_intake_acknowledged_total", of: .gateway) >= before + 500
            }
            #expect(goesOn, "nothing was acknowledged without Redis")
            try await line.redis.start()
        }
    }

    @Test("Invariants 1 and 2: the gateway killed in the middle of a burst loses nothing")
    func gatewayIsKilled() async throws {
        try await surviving { line in
            await line.killGateway()
            try await line.startGateway()
        }
    }

    @Test("Invariants 1 and 2: the gateway killed while it spools loses nothing")
    func gatewayIsKilledWhileItSpools() async throws {
        try await surviving { line in
            try await line.rabbitMQ.kill()
            let spools = try await eventually {
                try await line.metric("holdfast_spool_pending_records", of: .gateway) > 200
            }
            #expect(spools, "the gateway did not spool")
            await line.killGateway()
            try await line.startGateway()
            try await line.rabbitMQ.start()
        }
    }

    @Test("Invariant 2: the consumer killed in the middle of a burst loses nothing")
    func consumerIsKilled() async throws {
        try await surviving { line in
            await line.killConsumer()
            try await line.startConsumer()
        }
    }
}

@Suite(.timeLimit(.minutes(6))) struct OutageReadTests {
    @Test("Invariants 5 and 8: with RabbitMQ and Redis gone a payer is still served, at level A")
    func readsGoOnWithoutServers() async throws {
        try await Line.with { line in
            let customer = try await line.simulator.createAccount()
            _ = try await line.simulator.perform(.buy("demo.premium.yearly"), for: customer)
            check(try await eventually { try await line.hasPremium(customer) })
            #expect(try await line.read(customer)["service"]?["level"]?.string == "S")
            try await line.rabbitMQ.kill()
            try await line.redis.kill()
            let isA = try await eventually {
                try await line.read(customer)["service"]?["level"]?.string == "A"
            }
            #expect(isA)
            let answer = try await line.read(customer)
            #expect(try await line.hasPremium(customer))
            #expect(answer["service"]?["source"]?.string == "memory")
            #expect(answer["service"]?["syncing"]?.bool == true)
            try await line.redis.start()
            let isS = try await eventually {
                try await line.read(customer)["service"]?["level"]?.string == "S"
            }
            #expect(isS)
        }
    }
}
