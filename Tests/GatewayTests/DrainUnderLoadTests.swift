import Broker
import Runtime
import TestSupport
import Testing

@testable import Gateway

/// RabbitMQ is back, the spool is full, and Apple goes on sending.
@Suite("Draining while new notifications come", .timeLimit(.minutes(6))) struct DrainUnderLoadTests {
    private static let backlog = 4000
    private static let sides = 16

    /// One new notification, and what went on while it was under way.
    private struct Sent {
        let place: IntakeStore.Place?
        /// Spooled records that RabbitMQ confirmed in between.
        let overtakenBy: Int
        /// Whether spooled records waited when it was sent.
        let wasBehindBacklog: Bool
    }

    @Test(
        "Invariant 1: a backlog drains while what is new goes to RabbitMQ directly, behind no more than what is under way"
    )
    func newNotificationsDoNotWaitForTheBacklog() async throws {
        let server = try await RabbitMQServer.shared()
        var settings = BrokerSettings(server)
        // Whether RabbitMQ is quick is not the question, on a machine that may be busy.
        settings.healthLimit = .seconds(30)
        let inspector = BrokerInspector(patient: settings)
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 2000)
        try await withThrowingDiscardingTaskGroup { group in
            for number in 0..<Self.backlog {
                group.addTask {
                    let message = IntakeMessage(messageID: "old-\(number)", body: body)
                    try await spool.append(message.record)
                }
            }
        }
        #expect(spool.pending == UInt64(Self.backlog))

        let publisher = try BrokerPublisher(settings: settings, metrics: fixture.metrics, log: .discarding)
        try await publisher.start()
        let sink = BrokerSink(publisher, names: settings.names)
        let intake = IntakeStore(broker: sink, spool: SpoolSink(spool), log: .discarding)
        let window = fixture.settings.drainWindow
        let drainer = SpoolDrainer(
            spool: spool, sink: sink, window: window, metrics: fixture.metrics, log: .discarding)
        let drained = fixture.metrics.counter("holdfast_spool_drained_total", "")
        try await drainer.start()

        let all = await withTaskGroup(of: [Sent].self) { group in
            for side in 0..<Self.sides {
                group.addTask { await Self.send(from: side, intake, spool, drained, body) }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(spool.pending == 0)
        #expect(drained.value == UInt64(Self.backlog))
        let spooled = all.count { $0.place != .broker }
        #expect(spooled == 0, "a healthy broker took none of these directly")
        let meanwhile = all.filter(\.wasBehindBacklog)
        // While one side waits, others are served: nobody waits for the backlog to be gone.
        #expect(meanwhile.count >= Self.sides)
        let most = meanwhile.map(\.overtakenBy).max() ?? 0
        #expect(most <= 4 * window, "one waited while \(most) spooled records went before it")
        let arrived = try await inspector.messageCount(of: settings.names.apply)
        #expect(arrived >= Self.backlog + all.count)

        await drainer.drain()
        await publisher.drain()
        await spool.drain()
        try await inspector.deleteTopology()
    }

    /// Sends one after the other until the backlog is gone; a few in any case.
    private static func send(
        from side: Int, _ intake: IntakeStore, _ spool: Spool, _ drained: Counter, _ body: [UInt8]
    ) async -> [Sent] {
        var sent: [Sent] = []
        while spool.pending > 0 && sent.count < 100_000 || sent.count < 10 {
            let isBehind = spool.pending > 0
            let before = drained.value
            let place = await intake.store(IntakeMessage(messageID: "new-\(side)-\(sent.count)", body: body))
            sent.append(
                Sent(place: place, overtakenBy: Int(drained.value - before), wasBehindBacklog: isBehind))
        }
        return sent
    }
}
