import Broker
import HTTP
import JSON
import Runtime
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// Invariant 1 with the real RabbitMQ going away in every way it can.
@Suite("Outages of the broker", .serialized, .timeLimit(.minutes(6)))
struct OutageTests {
    /// Sends notifications from several sides until told to stop; remembers which were acknowledged.
    private final class Burst: Sendable {
        private struct State {
            var next = 0
            var acknowledged: Set<String> = []
            var others: [String: Int] = [:]
            var isStopping = false
        }
        private let state = Mutex(State())

        var acknowledged: Set<String> { state.withLock { $0.acknowledged } }
        /// Answers other than 200, counted by status or, where none came, by the reason.
        var others: [String: Int] { state.withLock { $0.others } }
        func stop() { state.withLock { $0.isStopping = true } }

        func run(_ gateway: RunningGateway, sides: Int = 16) async throws {
            let sender = try Sender.trusted.get()
            await withTaskGroup { group in
                for _ in 0..<sides {
                    group.addTask {
                        while let number = self.take() {
                            let uuid = "u-\(number)"
                            let status: String
                            do {
                                status = try await "\(gateway.post(sender.body(uuid, padding: 4000)).status)"
                            } catch {
                                status = "\(error)"
                            }
                            self.state.withLock { state in
                                if status == "200" {
                                    state.acknowledged.insert(uuid)
                                } else {
                                    state.others[status, default: 0] += 1
                                }
                            }
                        }
                    }
                }
            }
        }

        private func take() -> Int? {
            state.withLock { state in
                if state.isStopping { return nil }
                state.next += 1
                return state.next
            }
        }
    }

    private func uuids(_ deliveries: [BrokerDelivery]) -> Set<String> {
        Set(deliveries.compactMap(\.message.messageID))
    }

    @Test("Invariant 1: RabbitMQ killed in the middle of a burst: every 200 is in broker and spool, and drained later")
    func killedInABurst() async throws {
        try await RabbitMQServer.withOwn { server in
            try await withGateway(server) { gateway in
                let burst = Burst()
                async let running: Void = burst.run(gateway)
                check(try await eventually { burst.acknowledged.count > 150 })
                try await server.kill()
                let before = burst.acknowledged.count
                check(try await eventually { burst.acknowledged.count > before + 300 })
                #expect(gateway.spool.pending > 0)
                let ready = try JSONValue.parse(try await gateway.operations("/readyz").body)
                #expect(ready["ready"]?.bool == true && ready["broker"]?.bool == false)
                try await server.start()
                // Intake goes on while the spool drains.
                check(try await eventually(within: .seconds(60)) { gateway.spool.pending == 0 })
                burst.stop()
                try await running
                #expect(burst.others.isEmpty)
                check(try await eventually { gateway.spool.pending == 0 })
                let arrived = uuids(try await gateway.takeApplied())
                #expect(burst.acknowledged.subtracting(arrived).isEmpty)
                #expect(burst.acknowledged.count > 450)
            }
        }
    }

    @Test("Invariant 1: RabbitMQ standing still, or in alarm: nobody waits long, nothing is lost")
    func stoppedAndInAlarm() async throws {
        try await RabbitMQServer.withOwn { server in
            try await withGateway(
                server,
                { settings, broker in
                    settings.brokerLimit = .milliseconds(500)
                    broker.healthLimit = .milliseconds(200)
                }
            ) { gateway in
                let burst = Burst()
                async let running: Void = burst.run(gateway, sides: 8)
                check(try await eventually { burst.acknowledged.count > 100 })
                try await server.pause()
                var before = burst.acknowledged.count
                check(try await eventually { burst.acknowledged.count > before + 200 })
                #expect(gateway.spool.pending > 0)
                try await server.resume()
                check(try await eventually(within: .seconds(60)) { gateway.spool.pending == 0 })

                try await server.raiseMemoryAlarm()
                before = burst.acknowledged.count
                check(try await eventually { burst.acknowledged.count > before + 200 && gateway.spool.pending > 0 })
                try await server.clearMemoryAlarm()
                check(try await eventually(within: .seconds(60)) { gateway.spool.pending == 0 })
                burst.stop()
                try await running
                #expect(burst.others.isEmpty)
                check(try await eventually { gateway.spool.pending == 0 })
                let arrived = uuids(try await gateway.takeApplied())
                #expect(burst.acknowledged.subtracting(arrived).isEmpty)
            }
        }
    }

    @Test("Invariant 1: broker away and spool full: 503, and all that was acknowledged arrives later")
    func awayAndFull() async throws {
        try await RabbitMQServer.withOwn { server in
            try await withGateway(server, { settings, _ in settings.spool.maxBytes = 2 << 20 }) { gateway in
                try await server.stop()
                let sender = try Sender.trusted.get()
                var acknowledged: Set<String> = []
                var refusal: HTTPClientResponse?
                for number in 0..<500 {
                    let response = try await gateway.post(sender.body("u-\(number)", padding: 20_000))
                    guard response.status == 200 else {
                        refusal = response
                        break
                    }
                    acknowledged.insert("u-\(number)")
                }
                #expect(refusal?.status == 503)
                #expect(refusal?.headers["Retry-After"] == "30")
                #expect(acknowledged.count > 20)
                #expect(try await gateway.operations("/readyz").status == 503)
                try await server.start()
                check(try await eventually(within: .seconds(60)) { gateway.spool.pending == 0 })
                #expect(try await gateway.post(sender.body("u-last")).status == 200)
                let arrived = uuids(try await gateway.takeApplied())
                #expect(acknowledged.subtracting(arrived).isEmpty)
                #expect(arrived.contains("u-last"))
                #expect(try await gateway.operations("/readyz").status == 200)
            }
        }
    }

    @Test("Invariant 1: a work queue that is full refuses, the spool takes, and all arrives once there is room")
    func aFullQueue() async throws {
        try await withGateway(RabbitMQServer.shared(), { _, broker in broker.applyMaximumLength = 20 }) { gateway in
            let sender = try Sender.trusted.get()
            let sent = Set((0..<120).map { "u-\($0)" })
            for uuid in sent { #expect(try await gateway.post(sender.body(uuid)).status == 200) }
            #expect(gateway.spool.pending > 50)
            var arrived: Set<String> = []
            check(
                try await eventually(within: .seconds(60)) {
                    arrived.formUnion(uuids(try await gateway.takeApplied()))
                    return gateway.spool.pending == 0 && arrived == sent
                })
            #expect(gateway.counter("holdfast_spool_drain_failures_total", ["reason": "refused"]) > 0)
            try await gateway.inspector.deleteTopology()
        }
    }

    @Test("Invariant 1: a gateway that starts without its broker takes notifications, and hands them on later")
    func startsWithoutItsBroker() async throws {
        try await RabbitMQServer.withOwn { server in
            try await server.stop()
            try await withGateway(server) { gateway in
                let sender = try Sender.trusted.get()
                for number in 0..<5 { #expect(try await gateway.post(sender.body("u-\(number)")).status == 200) }
                #expect(gateway.spool.pending == 5)
                try await server.start()
                check(try await eventually(within: .seconds(60)) { gateway.spool.pending == 0 })
                let deliveries = try await gateway.takeApplied()
                #expect(deliveries.compactMap(\.message.messageID) == ["u-0", "u-1", "u-2", "u-3", "u-4"])
                check(deliveries.allSatisfy { $0.message.headers["spooled"] == "true" })
            }
        }
    }
}
