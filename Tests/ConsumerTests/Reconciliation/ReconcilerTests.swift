import AppStore
import Broker
import CacheTier
import Entitlements
import JSON
import Runtime
import Simulator
import TestSupport
import Testing
import Time

@testable import Consumer

/// Lineages that are checked when it is due: by a real consumer, in a real Redis, with a simulated store that loses its
/// notifications.
@Suite("Reconciliation", .timeLimit(.minutes(10))) struct ReconcilerTests {
    private static let hour = Duration.seconds(3600)

    private func with(_ body: (OutageLine, SimulatedApple) async throws -> Void) async throws {
        let clock = HandSetClock()
        let identity = try SimulatorIdentity(makingAt: clock.now)
        let verifier = NotificationVerifier(
            JWSVerifier(roots: try TrustedRoots(der: [identity.authority.rootDER])))
        try await OutageLine.with(clock: clock, verifier: verifier) { line in
            try await SimulatedApple.with(
                notificationURL: line.notificationURL, clock: clock, identity: identity
            ) { apple in try await body(line, apple) }
        }
    }

    private func running(_ services: [any Service], _ body: () async throws -> Void) async throws {
        for service in services { try await service.start() }
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        for service in services.reversed() { await service.drain() }
        try result.get()
    }

    /// Customers whose purchase has come to us, and whose further notifications are lost.
    private func sell(_ count: Int, _ line: OutageLine, _ apple: SimulatedApple) async throws -> [String] {
        var accounts: [String] = []
        for _ in 0..<count {
            let account = try await apple.simulator.createAccount()
            try await apple.simulator.perform(.buy("demo.premium.monthly"), for: account)
            accounts.append(account)
        }
        for account in accounts {
            let hasIt = try await eventually { try await line.active(account) == ["premium"] }
            #expect(hasIt)
        }
        await apple.loseNotifications(true)
        return accounts
    }

    /// Lets time pass until the paid periods are over for an hour or more.
    private func untilOver(_ account: String, _ line: OutageLine, _ apple: SimulatedApple) async throws {
        await apple.pass(Self.hour * 24 * 27)
        for _ in 0..<20 {
            if try await state(account, line) == "hold" { break }
            await apple.pass(Self.hour * 6)
        }
        await apple.pass(Self.hour)
        #expect(try await state(account, line) == "hold")
    }

    private func state(_ account: String, _ line: OutageLine) async throws -> String? {
        let entitlements = try await line.read(account)["entitlements"]?.array ?? []
        return entitlements.first { $0["id"]?.string == "premium" }?["state"]?.string
    }

    private func audit(_ lines: Lines) -> [JSONValue] {
        lines.all.filter { $0["event"]?.string == "Apple was asked about a lineage" }
    }

    @Test("Invariant 5: before a payer is downgraded for want of news, Apple is asked, and the payer keeps access")
    func beforeADowngradeAppleIsAsked() async throws {
        try await with { line, apple in
            let loop = try EventLoop(name: "reconcile-clients")
            defer { loop.stop() }
            let clients = line.clients(of: apple, loop: loop)
            let lines = Lines()
            let log = Log(part: "test", minimum: .info, sink: lines.sink)
            try await running([line.consumer(apple.verifier), clients]) {
                let accounts = try await sell(4, line, apple)
                let (renewing, leaving) = (accounts[0], accounts[1])
                try await apple.simulator.perform(.cancel(), for: leaving)
                try await apple.simulator.perform(.payment(fails: true, grace: false), for: accounts[2])
                try await apple.simulator.perform(.refund(), for: accounts[3])
                // All periods are over, and nobody has told us anything.
                try await untilOver(renewing, line, apple)
                #expect(try await line.active(leaving) == ["premium"])
                try await running([line.reconciler(clients, apple.verifier, log: log)]) {
                    let settled = try await eventually {
                        var states: [String?] = []
                        for account in accounts { states.append(try await state(account, line)) }
                        return states == ["active", "expired", "billingRetry", "revoked"]
                    }
                    #expect(settled)
                }
                #expect(try await line.active(renewing) == ["premium"])
                let asked = audit(lines)
                #expect(asked.count == 4)
                for one in asked {
                    check(one["row"]?.string == "hold")
                    check(one["urgency"]?.string == "access")
                    check(one["before"]?.string == "hold")
                    check(one["took"]?.int64 != nil)
                    check(one["message"]?.string?.hasPrefix("statuses-") == true)
                }
                let concluded = Set(asked.compactMap { $0["concluded"]?.string })
                #expect(concluded == ["active", "expired", "billingRetry", "revoked"])
            }
        }
    }

    @Test func whatAConsumerHadInHandWhenItDiedIsCheckedByAnother() async throws {
        try await with { line, apple in
            let loop = try EventLoop(name: "reconcile-clients")
            defer { loop.stop() }
            let clients = line.clients(of: apple, loop: loop)
            try await running([line.consumer(apple.verifier), clients]) {
                let accounts = try await sell(6, line, apple)
                try await untilOver(accounts[0], line, apple)
                // Somebody takes all there is, and is heard of no more.
                let claimed = try await line.due.claim(limit: 100, lease: .seconds(20))
                #expect(claimed.count == accounts.count)
                #expect(try await line.due.claim(limit: 100, lease: .seconds(20)).isEmpty)
                try await running([line.reconciler(clients, apple.verifier)]) {
                    for account in accounts {
                        let isSettled = try await eventually {
                            line.clock.advance(by: .seconds(5))
                            return try await state(account, line) == "active"
                        }
                        #expect(isSettled)
                    }
                }
            }
        }
    }

    @Test func severalConsumersShareTheWorkAndNothingIsAskedTwice() async throws {
        try await with { line, apple in
            let loop = try EventLoop(name: "reconcile-clients")
            defer { loop.stop() }
            let clients = line.clients(of: apple, loop: loop)
            let lines = [Lines(), Lines()]
            try await running([line.consumer(apple.verifier), clients]) {
                let accounts = try await sell(24, line, apple)
                try await untilOver(accounts[0], line, apple)
                let consumers = lines.map { lines in
                    line.reconciler(
                        clients, apple.verifier, log: Log(part: "test", minimum: .info, sink: lines.sink))
                }
                try await running(consumers) {
                    for account in accounts {
                        let isSettled = try await eventually { try await state(account, line) == "active" }
                        #expect(isSettled)
                    }
                }
                let asked = lines.flatMap { audit($0).compactMap { $0["lineage"]?.string } }
                #expect(asked.count == accounts.count)
                #expect(Set(asked).count == accounts.count)
            }
        }
    }

    @Test(
        "Invariant 5: while Apple is away nothing is taken from the schedule, the payer is served, and it is asked later"
    )
    func whileAppleIsAwayNothingChanges() async throws {
        try await with { line, apple in
            let loop = try EventLoop(name: "reconcile-clients")
            defer { loop.stop() }
            let clients = line.clients(of: apple, loop: loop)
            try await running([line.consumer(apple.verifier), clients]) {
                let accounts = try await sell(3, line, apple)
                await apple.goAway(true)
                let isAway = try await eventually {
                    clients.health.health(of: line.app, .production) == .unreachable
                }
                #expect(isAway)
                try await untilOver(accounts[0], line, apple)
                let renewed = await apple.simulator.truth(of: accounts[0]).contains { $0.access }
                #expect(renewed)
                try await running([line.reconciler(clients, apple.verifier)]) {
                    #expect(try await line.due.status().due == 3)
                    for account in accounts { #expect(try await state(account, line) == "hold") }
                    var behaviour = await apple.simulator.apiBehaviour
                    behaviour.failPercent = 0
                    behaviour.failStatus = 0
                    await apple.simulator.setBehaviour(api: behaviour)
                    for account in accounts {
                        let isSettled = try await eventually { try await state(account, line) == "active" }
                        #expect(isSettled)
                    }
                }
            }
        }
    }

    @Test func aCallThatFailsLeavesTheLastValidStateAndIsMadeAgain() async throws {
        try await with { line, apple in
            let lines = Lines()
            let log = Log(part: "test", minimum: .info, sink: lines.sink)
            try await running([line.consumer(apple.verifier)]) {
                let accounts = try await sell(2, line, apple)
                try await untilOver(accounts[0], line, apple)
                var behaviour = await apple.simulator.apiBehaviour
                (behaviour.failStatus, behaviour.failPercent) = (500, 100)
                await apple.simulator.setBehaviour(api: behaviour)
                // Nobody thinks ill of Apple, so that every call is made.
                let reconciler = line.reconciler(apple.client, apple.verifier, log: log)
                try await running([reconciler]) {
                    let failed = try await eventually {
                        lines.all.count { $0["event"]?.string == "Apple was asked about a lineage, in vain" } >= 2
                    }
                    #expect(failed)
                    for account in accounts { #expect(try await state(account, line) == "hold") }
                    let vain = lines.all.first { $0["event"]?.string == "Apple was asked about a lineage, in vain" }
                    #expect(vain?["pending"]?.string == "verification")
                    behaviour.failPercent = 0
                    await apple.simulator.setBehaviour(api: behaviour)
                    for account in accounts {
                        let isSettled = try await eventually {
                            // By its cadence it is due again some simulated time later.
                            line.clock.advance(by: .seconds(5))
                            return try await state(account, line) == "active"
                        }
                        #expect(isSettled)
                    }
                }
            }
        }
    }

    @Test func whatANotificationShouldHaveToldIsNotedAndExamined() async throws {
        try await with { line, apple in
            let loop = try EventLoop(name: "reconcile-clients")
            defer { loop.stop() }
            let clients = line.clients(of: apple, loop: loop)
            try await running([line.consumer(apple.verifier), clients]) {
                let account = try await sell(1, line, apple)[0]
                try await untilOver(account, line, apple)
                let reconciler = line.reconciler(clients, apple.verifier)
                try await running([reconciler]) {
                    let isSettled = try await eventually { try await state(account, line) == "active" }
                    #expect(isSettled)
                    let isNoted = try await eventually { try await line.drifts(limit: 10).count == 1 }
                    #expect(isNoted)
                    let noted = try #require(try await line.drifts(limit: 10).first)
                    #expect(noted.differences.map(\.field) == [.transaction])
                    #expect(noted.differences.first?.tellers == [.didRenew])
                    #expect(noted.before == .hold && noted.after == .active)
                    #expect(!noted.isExamined)
                    line.clock.advance(by: .seconds(601))
                    let isExamined = try await eventually { try await line.drifts(limit: 10).first?.isExamined == true }
                    #expect(isExamined)
                    let examined = try #require(try await line.drifts(limit: 10).first)
                    #expect(examined.differences.map(\.cause) == [.undelivered])
                    let uuids = await apple.uuids()
                    #expect(examined.differences.first?.notificationUUID.map(uuids.contains) == true)
                }
            }
        }
    }
}
