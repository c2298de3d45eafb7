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

/// Apple away for a day: no notification comes, no call is answered, and subscriptions renew, end and are refunded
/// meanwhile. Then Apple is back.
@Suite("Apple's outage, from its beginning to the end of the recovery", .timeLimit(.minutes(10)))
struct AppleOutageTests {
    /// Customers by what will become of them while Apple is away.
    private enum Fate: CaseIterable { case renews, cancels, isRefunded, cannotPay, comesBack, upgrades }

    private static let hour = Duration.seconds(3600)
    private static let each = 3

    private struct Customer {
        let account: String
        let fate: Fate
    }

    /// `history`: how many notifications Apple's history remembers.
    private func with(
        history: Int = 100_000, _ body: (OutageLine, SimulatedApple) async throws -> Void
    ) async throws {
        let clock = HandSetClock()
        let identity = try SimulatorIdentity(makingAt: clock.now)
        let verifier = NotificationVerifier(
            JWSVerifier(roots: try TrustedRoots(der: [identity.authority.rootDER])))
        try await OutageLine.with(clock: clock, verifier: verifier) { line in
            try await SimulatedApple.with(
                notificationURL: line.notificationURL, clock: clock, identity: identity, history: history
            ) { apple in try await body(line, apple) }
        }
    }

    /// Sells, and waits until every customer has what was bought.
    private func sell(_ line: OutageLine, _ apple: SimulatedApple) async throws -> [Customer] {
        var customers: [Customer] = []
        for fate in Fate.allCases {
            for _ in 0..<Self.each {
                let account = try await apple.simulator.createAccount()
                try await apple.simulator.perform(.buy("demo.premium.monthly"), for: account)
                if fate == .comesBack { try await apple.simulator.perform(.cancel(), for: account) }
                customers.append(Customer(account: account, fate: fate))
            }
        }
        for customer in customers {
            let hasIt = try await eventually { try await line.active(customer.account) == ["premium"] }
            #expect(hasIt)
        }
        // Whoever has cancelled: that news has come, too.
        let delivered = try await eventually {
            await apple.simulator.deliveries().allSatisfy { $0.state == .delivered }
        }
        #expect(delivered)
        let count = await apple.simulator.deliveries().count
        let applied = try await eventually { line.stage.count("applied") + line.stage.count("unchanged") >= count }
        #expect(applied)
        return customers
    }

    /// What happens to everybody, from a day before the end of their periods to hours after it.
    private func live(_ customers: [Customer], _ line: OutageLine, _ apple: SimulatedApple) async throws {
        for customer in customers {
            switch customer.fate {
            case .renews: break
            case .cancels: try await apple.simulator.perform(.cancel(), for: customer.account)
            case .isRefunded: break
            case .cannotPay: try await apple.simulator.perform(.payment(fails: true), for: customer.account)
            case .comesBack: try await apple.simulator.perform(.resume(), for: customer.account)
            case .upgrades: break
            }
        }
        for step in 0..<7 {
            await apple.pass(Self.hour * 6)
            if step == 5 {
                for customer in customers {
                    switch customer.fate {
                    case .isRefunded: try await apple.simulator.perform(.refund(), for: customer.account)
                    case .upgrades:
                        try await apple.simulator.perform(.change(to: "demo.premium.yearly"), for: customer.account)
                    default: break
                    }
                }
            }
            try await noPayerIsWithoutAccess(customers.filter { $0.fate != .comesBack }, line, apple)
        }
        try await whoCameBackUnheardIsWithoutAccess(customers, line, apple)
    }

    /// The rule `renewalOff`, and what it costs: the last that was heard of these is that they will not renew, so their
    /// periods ended in time. That they thought better of it, only Apple could tell; the recovery gives access back.
    private func whoCameBackUnheardIsWithoutAccess(
        _ customers: [Customer], _ line: OutageLine, _ apple: SimulatedApple
    ) async throws {
        for customer in customers where customer.fate == .comesBack {
            #expect(await Self.pays(customer.account, apple))
            #expect(try await line.active(customer.account).isEmpty)
        }
    }

    /// Invariant 5.
    private func noPayerIsWithoutAccess(
        _ customers: [Customer], _ line: OutageLine, _ apple: SimulatedApple
    ) async throws {
        for customer in customers where await Self.pays(customer.account, apple) {
            let active = try await line.active(customer.account)
            #expect(active.contains("premium"), "\(customer.fate) at \(line.clock.now)")
        }
    }

    private static func pays(_ account: String, _ apple: SimulatedApple) async -> Bool {
        await apple.simulator.truth(of: account).contains { $0.access }
    }

    /// Where reads and the simulator's truth differ.
    private func differences(
        _ accounts: [String], _ line: OutageLine, _ apple: SimulatedApple
    ) async throws -> [String] {
        var differences: [String] = []
        for account in accounts {
            let truth = await Self.pays(account, apple)
            let active = try await line.active(account)
            if truth != active.contains("premium") { differences.append("\(account): \(truth), \(active)") }
            // The state, too, once nothing is in doubt.
            let states = await apple.simulator.truth(of: account).map(\.state.rawValue)
            let read = try await line.read(account)
            let told = (read["entitlements"]?.array ?? []).compactMap { $0["state"]?.string }
            if told.contains("hold") { differences.append("\(account): \(states), \(told)") }
        }
        return differences
    }

    private func recovered(_ line: OutageLine) async throws -> RecoveryJob? {
        var found: RecoveryJob?
        _ = try await eventually {
            found = try await line.jobs.jobs().first { $0.phase == .done }
            return found != nil
        }
        return found
    }

    private func isAwaited(_ line: OutageLine) async throws -> Bool {
        try await eventually { try await line.jobs.jobs().contains { $0.phase == .waiting } }
    }

    private func running(
        _ services: [any Service], _ body: () async throws -> Void
    ) async throws {
        for service in services { try await service.start() }
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        for service in services.reversed() { await service.drain() }
        try result.get()
    }

    @Test(
        "Invariant 5: Apple away for two days and back: no payer was without access, and then all is as the store has it"
    )
    func appleIsAwayAndComesBack() async throws {
        // The history has lost the oldest of what it should tell: these lineages must be asked about.
        try await with(history: 22) { line, apple in
            let loop = try EventLoop(name: "outage-clients")
            defer { loop.stop() }
            let clients = line.clients(of: apple, loop: loop)
            let lines = Lines()
            let log = Log(part: "test", sink: lines.sink)
            try await running(
                [line.consumer(apple.verifier)] + line.watch(clients) + [
                    clients, line.recovery(clients, apple.verifier, log: log),
                ]
            ) {
                let customers = try await sell(line, apple)
                await apple.pass(Self.hour * 24 * 28 + Self.hour * 12)
                await apple.goAway(true)
                #expect(try await isAwaited(line))
                try await live(customers, line, apple)
                // A customer whom nobody has heard of.
                let newcomer = try await apple.simulator.createAccount()
                try await apple.simulator.perform(.buy("demo.premium.yearly"), for: newcomer)
                #expect(try await line.active(newcomer).isEmpty)

                await apple.goAway(false)
                let job = try #require(try await recovered(line))
                #expect(job.history.figures.new > 0)
                #expect(job.lineages.settled > 0)
                #expect(job.lineages.failed == 0)
                let accounts = customers.map(\.account) + [newcomer]
                var left: [String] = []
                let agrees = try await eventually {
                    left = try await differences(accounts, line, apple)
                    return left.isEmpty
                }
                #expect(agrees, "\(left)")
                try await noPayerIsWithoutAccess(customers, line, apple)
                #expect(try await line.stage.inspector.messageCount(of: line.stage.broker.names.quarantine) == 0)
                let audit = lines.all.filter { $0["event"]?.string == "Apple was asked about a lineage" }
                #expect(UInt64(audit.count) == job.lineages.asked)
            }
        }
    }

    @Test func anOutageThatTheGatewayAloneNoticedIsMadeUpFor() async throws {
        try await with { line, apple in
            let loop = try EventLoop(name: "outage-clients")
            defer { loop.stop() }
            let consumer = line.consumer(apple.verifier)
            let clients = line.clients(of: apple, loop: loop)
            var customers: [Customer] = []
            try await running([consumer]) {
                // The gateway's process, which recovers nothing itself; its end is noted, and then it is gone.
                try await running(line.watch(clients) + [clients]) {
                    customers = try await sell(line, apple)
                    await apple.pass(Self.hour * 24 * 28 + Self.hour * 12)
                    await apple.goAway(true)
                    #expect(try await isAwaited(line))
                    try await live(customers, line, apple)
                    await apple.goAway(false)
                    let isOver = try await eventually {
                        try await line.jobs.jobs().contains { $0.phase == .history }
                    }
                    #expect(isOver)
                }
                // A consumer that starts now has noticed nothing.
                let others = line.clients(of: apple, loop: loop)
                try await running([others, line.recovery(others, apple.verifier)]) {
                    let job = try #require(try await recovered(line))
                    #expect(job.history.figures.new > 0)
                    let agrees = try await eventually {
                        try await differences(customers.map(\.account), line, apple).isEmpty
                    }
                    #expect(agrees)
                }
            }
        }
    }

    @Test func aRecoveryThatADeadConsumerLeftIsTakenOver() async throws {
        try await with { line, apple in
            let loop = try EventLoop(name: "outage-clients")
            defer { loop.stop() }
            try await running([line.consumer(apple.verifier)]) {
                let customers = try await sell(line, apple)
                await apple.pass(Self.hour * 24 * 28 + Self.hour * 12)
                let began = line.clock.now
                await apple.goAway(true)
                try await live(customers, line, apple)
                await apple.goAway(false)
                // It was begun by somebody who has the lease and is heard of no more.
                let over = OutageNotice(.light, began: began, now: line.clock.now)
                let job = try #require(try await line.jobs.note(over))
                #expect(try await line.jobs.take(job.name))
                let clients = line.clients(of: apple, loop: loop)
                try await running([clients, line.recovery(clients, apple.verifier)]) {
                    let done = try #require(try await recovered(line))
                    #expect(done.name == job.name)
                    let agrees = try await eventually {
                        try await differences(customers.map(\.account), line, apple).isEmpty
                    }
                    #expect(agrees)
                }
            }
        }
    }
}
