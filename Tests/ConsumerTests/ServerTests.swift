import Broker
import JSON
import Runtime
import Synchronization
import TestSupport
import Testing

@testable import Consumer

@Suite("Consumer on real servers", .timeLimit(.minutes(6))) struct ServerTests {
    @Test("Pitfall 28: a notification that comes again, under the same UUID, changes nothing")
    func everyNotificationIsAppliedOnceDespiteDuplicates() async throws {
        try await Stage.with { stage in
            let consumer = try stage.consumer()
            try await consumer.start()
            try await stage.sendLineages(20, copies: 3)
            check(try await eventually { stage.count("applied") + stage.count("unchanged") >= 60 })
            await consumer.drain()
            #expect(stage.count("applied") == 20)
            #expect(stage.count("unchanged") == 40)
            #expect(try await stage.applied(20) == 20)
            #expect(try await stage.waiting() == 0)
        }
    }

    enum Outage: CaseIterable { case killed, paused }

    @Test(
        "Invariant 2: Redis killed or paused in the middle of a burst, and everything is applied after its return",
        arguments: Outage.allCases)
    func redisFailsInTheMiddle(outage: Outage) async throws {
        try await RedisServer.withOwn { server in
            try await Stage.with(redis: server) { stage in
                let consumer = try stage.consumer()
                try await stage.sendLineages(300)
                try await consumer.start()
                check(try await eventually { stage.count("applied") >= 40 })
                switch outage {
                case .killed: try await server.kill()
                case .paused: try server.pause()
                }
                check(try await eventually { stage.isResting })
                #expect(stage.count("applied") < 300)
                // Only what was in hand took the way through the retry levels.
                #expect(stage.count("retry") + stage.count("requeued") <= 2 * UInt64(stage.broker.prefetch))
                switch outage {
                case .killed: try await server.start()
                case .paused: try server.resume()
                }
                // What was written when the connection broke is known already at the second try.
                check(
                    try await eventually(within: .seconds(60)) {
                        stage.count("applied") + stage.count("unchanged") >= 300
                    })
                await consumer.drain()
                #expect(try await stage.applied(300) == 300)
                #expect(try await stage.waiting() == 0)
                #expect(try await stage.inspector.messageCount(of: stage.broker.names.quarantine) == 0)
            }
        }
    }

    @Test("Invariant 2: the broker killed in the middle of a burst, and everything is applied after its return")
    func brokerKilledInTheMiddle() async throws {
        try await RabbitMQServer.withOwn { server in
            try await Stage.with(rabbit: server) { stage in
                let consumer = try stage.consumer()
                try await stage.sendLineages(300)
                try await consumer.start()
                check(try await eventually { stage.count("applied") >= 40 })
                try await server.kill()
                try await server.start()
                check(try await eventually(within: .seconds(60)) { try await stage.applied(300) == 300 })
                await consumer.drain()
                #expect(try await stage.waiting() == 0)
            }
        }
    }

    @Test("Invariant 2: poison lies in quarantine with its reason until somebody puts it back")
    func poisonLiesInQuarantineUntilSomebodyPutsItBack() async throws {
        try await Stage.with { stage in
            let quarantine = QuarantineQueue(
                settings: stage.broker, publisher: stage.publisher, metrics: stage.metrics, log: .discarding)
            let late = "\(stage.app)-late"
            try await stage.send(Array("{}".utf8))
            try await stage.send(try Forge.notification(lineage: "0"), app: late)
            try await stage.send(try Forge.notification(lineage: "1", bundle: "com.example.other"))
            let consumer = try stage.consumer()
            try await consumer.start()
            check(try await eventually { stage.count("quarantined") >= 3 })
            await consumer.drain()
            let listed = try await quarantine.list()
            #expect(Set(listed.map(\.reason.code)) == ["malformed", "unknownApp", "wrongApp"])
            check(listed.first { $0.reason.code == "unknownApp" }?.app == late)
            check(try await eventually { try await quarantine.count() == 3 })

            // The app has come into the settings meanwhile.
            let report = try await quarantine.retry { $0.reason.code == "unknownApp" }
            #expect(report == QuarantineQueue.Report(returned: 1, kept: 2))
            let next = try stage.consumer(apps: [stage.app, late])
            try await next.start()
            check(try await eventually { stage.count("applied") >= 1 })
            await next.drain()
            check(try await eventually { try await quarantine.count() == 2 })
            let left = try await quarantine.list()
            #expect(Set(left.map(\.reason.code)) == ["malformed", "wrongApp"])
            #expect(try await stage.waiting() == 0)
        }
    }

    @Test("Invariant 2: a message full of somebody's headers has its reason in quarantine all the same")
    func aMessageFullOfHeadersHasItsReason() async throws {
        try await Stage.with { stage in
            let quarantine = QuarantineQueue(
                settings: stage.broker, publisher: stage.publisher, metrics: stage.metrics, log: .discarding)
            let headers = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("h\($0)", "v") })
            try await stage.publisher.publish(
                BrokerMessage(body: Array("{}".utf8), headers: headers), to: stage.broker.names.intake)
            let consumer = try stage.consumer()
            try await consumer.start()
            check(try await eventually { stage.count("quarantined") >= 1 })
            await consumer.drain()
            let listed = try await quarantine.list()
            #expect(listed.map(\.reason.code) == ["unknownApp"])
        }
    }

    @Test func anEmptyQuarantineHasNothingToRetry() async throws {
        try await Stage.with { stage in
            let quarantine = QuarantineQueue(
                settings: stage.broker, publisher: stage.publisher, metrics: stage.metrics, log: .discarding)
            let listed = try await quarantine.list()
            #expect(listed.isEmpty)
            let report = try await quarantine.retry()
            #expect(report == QuarantineQueue.Report())
        }
    }

    @Test("Invariant 2: drain settles what is in hand and leaves the rest in its queue")
    func drainSettlesWhatIsInHandAndLeavesTheRest() async throws {
        try await Stage.with(prefetch: 8) { stage in
            let store = GatedStore(stage.store)
            let lines = Lines()
            let consumer = try stage.consumer(store: store, log: Log(part: "test", sink: lines.sink))
            try await stage.sendLineages(20)
            try await consumer.start()
            check(try await eventually { store.held == 8 })
            let isDrained = Mutex(false)
            let drain = Task {
                await consumer.drain()
                isDrained.withLock { $0 = true }
            }
            check(try await eventually { lines.all.contains { $0["event"]?.string == "intake ends" } })
            check(!isDrained.withLock { $0 })
            store.open()
            await drain.value
            let applied = Int(stage.count("applied"))
            #expect(applied >= 8)
            #expect(try await stage.waiting() == 20 - applied)
            // Nothing of it was in anybody's hand.
            let left = try await stage.inspector.peek(stage.broker.names.apply, limit: 20)
            check(left.allSatisfy { $0.deliveryCount == 0 })
        }
    }
}
