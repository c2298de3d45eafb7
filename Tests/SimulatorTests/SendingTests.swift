import AppStore
import TestSupport
import Testing
import Time

@testable import Simulator

/// Notifications over real sockets.
@Suite(.timeLimit(.minutes(6))) struct SendingTests {
    @Test func aPurchaseArrivesAsASignedNotification() async throws {
        try await Playground.with { playground in
            let account = try await playground.simulator.createAccount()
            try await playground.simulator.perform(.buy("premium.monthly"), for: account)
            #expect(await playground.deliveries(1).first?.result == "SUCCESS")
            let verified = try playground.verify(body: try #require(playground.receiver.bodies.first))
            #expect(verified.payload.notificationType == "SUBSCRIBED")
            #expect(verified.payload.subtype == "INITIAL_BUY")
        }
    }

    @Test func theClockItselfBringsRenewalsAndTheEnd() async throws {
        // A month lasts a quarter of a second.
        try await Playground.with(StoreSettings(speed: 30 * 86_400 * 4)) { playground in
            let account = try await playground.simulator.createAccount()
            try await playground.simulator.perform(.buy("premium.monthly"), for: account)
            let first = await playground.deliveries(3)
            #expect(first.count >= 3)
            try await playground.simulator.perform(.cancel(), for: account)
            var names: [String] = []
            while !names.contains("EXPIRED/VOLUNTARY") {
                let events = await playground.simulator.events(wait: .seconds(30))
                names = events.filter { $0.result == nil }.map(\.name)
            }
            #expect(names.starts(with: ["account created", "SUBSCRIBED/INITIAL_BUY", "DID_RENEW"]))
            #expect(await playground.simulator.truth(of: account).first?.state == .expired)
        }
    }

    @Test func whatIsRefusedComesAgainUnderTheSameUUID() async throws {
        // An hour lasts ten milliseconds.
        let receiver = Receiver { $0 < 3 ? 503 : 200 }
        try await Playground.with(StoreSettings(speed: 360_000), receiver: receiver) { playground in
            let uuid = await playground.simulator.requestTestNotification().uuid
            let deliveries = await playground.deliveries(3)
            #expect(
                deliveries.map(\.result) == [
                    "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "SUCCESS",
                ])
            #expect(deliveries.map(\.attempt) == [1, 2, 3])
            let uuids = try receiver.bodies.map { try playground.verify(body: $0).payload.notificationUUID }
            #expect(uuids == [uuid, uuid, uuid])
            let entry = try #require(await playground.simulator.delivery(of: uuid))
            #expect(entry.state == .delivered)
            #expect(entry.attempts.count == 3)
        }
    }

    @Test func sandboxGivesUpAfterOneTry() async throws {
        let receiver = Receiver { _ in 500 }
        try await Playground.with(StoreSettings(environment: .sandbox, speed: 360_000), receiver: receiver) {
            playground in
            let uuid = await playground.simulator.requestTestNotification().uuid
            _ = await playground.deliveries(1)
            #expect(await playground.simulator.delivery(of: uuid)?.state == .failed)
        }
    }

    @Test func noAnswerInTimeIsATimeout() async throws {
        let receiver = Receiver { _ in nil }
        try await Playground.with(sendTimeout: .milliseconds(100), receiver: receiver) { playground in
            _ = await playground.simulator.requestTestNotification()
            #expect(await playground.deliveries(1).first?.result == "TIMED_OUT")
        }
    }

    @Test func aBurstCountsWhatWasAcknowledged() async throws {
        let receiver = Receiver { $0 % 10 == 0 ? 503 : 200 }
        try await Playground.with(receiver: receiver) { playground in
            let result = try await playground.simulator.burst(200, productID: "premium.monthly", connections: 32)
            #expect(result.notifications.count == 200)
            #expect(result.acknowledged.count == 180)
            check(result.notifications.count { $0.outcome == .failed(.unsuccessfulStatus) } == 20)
            let arrived = try Set(receiver.bodies.map { try playground.verify(body: $0).payload.notificationUUID })
            #expect(arrived == Set(result.notifications.map(\.uuid)))
            #expect(Set(result.acknowledged.map(\.account)).count == 180)
            #expect(await playground.simulator.truth().filter(\.access).count == 200)
        }
    }

    @Test func aBurstSaysWhatWasLost() async throws {
        try await Playground.with { playground in
            var behaviour = SendingBehaviour()
            behaviour.losePercent = 100
            await playground.simulator.setBehaviour(sending: behaviour)
            let result = try await playground.simulator.burst(10, productID: "lifetime")
            check(result.notifications.allSatisfy { $0.outcome == .lost })
            #expect(playground.receiver.bodies.isEmpty)
        }
    }

    @Test func aBurstOfTheUnknownOrIntoTheDarkIsToldSo() async throws {
        try await Playground.with { playground in
            await #expect(throws: BurstError.self) {
                try await playground.simulator.burst(1, productID: "nothing")
            }
            var behaviour = SendingBehaviour()
            behaviour.isDark = true
            await playground.simulator.setBehaviour(sending: behaviour)
            let dark = try await playground.simulator.burst(3, productID: "coins", deadline: .milliseconds(50))
            check(dark.notifications.allSatisfy { $0.outcome == .pending })
            await playground.simulator.setBehaviour(sending: SendingBehaviour())
            #expect(await playground.deliveries(3).count == 3)
        }
    }

    @Test func duplicatesArriveTwice() async throws {
        try await Playground.with { playground in
            var behaviour = SendingBehaviour()
            behaviour.duplicatePercent = 100
            await playground.simulator.setBehaviour(sending: behaviour)
            let uuid = await playground.simulator.requestTestNotification().uuid
            _ = await playground.deliveries(2)
            let uuids = try playground.receiver.bodies.map { try playground.verify(body: $0).payload.notificationUUID }
            #expect(uuids == [uuid, uuid])
            #expect(await playground.simulator.delivery(of: uuid)?.attempts.count == 1)
        }
    }

    @Test func drainingWaitsForAnswersAndSendsNothingMore() async throws {
        try await Playground.with(connections: 1) { playground in
            for _ in 0..<5 { _ = await playground.simulator.requestTestNotification() }
            await playground.simulator.drain()
            let count = playground.receiver.bodies.count
            _ = await playground.simulator.requestTestNotification()
            #expect(playground.receiver.bodies.count == count)
        }
    }
}
