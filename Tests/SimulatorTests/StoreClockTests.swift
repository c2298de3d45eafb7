import TestSupport
import Testing
import Time

@testable import Simulator

@Suite struct StoreClockTests {
    @Test(arguments: [1.0, 1000, 86_400])
    func everyLengthIsDividedByTheSpeed(_ speed: Double) throws {
        var store = Demo.store(StoreSettings(speed: speed))
        func day(_ count: Int) -> Timestamp {
            Demo.start + .milliseconds((Double(count) * 86_400_000 / speed).rounded())
        }
        let bought = try store.buy("premium.monthly", by: Demo.account, at: Demo.start)
        #expect(bought.notifications.first?.transaction?.expiresDate == day(30))
        _ = try store.setPayment(of: Demo.account, fails: true, grace: true, at: Demo.start)
        let events = store.advance(to: day(90))
        #expect(events.names == ["DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED", "EXPIRED/BILLING_RETRY"])
        #expect(events.map(\.time) == [day(30), day(46), day(90)])
    }

    @Test func theSameSeedLivesTheSameLife() throws {
        func life(seed: UInt64) throws -> [StoreNotification] {
            var store = Demo.store(StoreSettings(seed: seed))
            let account = try store.createAccount(at: Demo.start).token
            var events = try store.buy("basic.monthly", by: account, at: Demo.start)
            events += try store.buy("premium.monthly", by: account, at: Demo.start + Demo.day)
            events += store.advance(to: Demo.start + Demo.day * 100)
            return events.notifications
        }
        #expect(try life(seed: 7) == life(seed: 7))
        #expect(try life(seed: 7).map(\.uuid) != life(seed: 8).map(\.uuid))
    }

    @Test func identifiersLookLikeApples() {
        var production = StoreIdentifiers(environment: .production, seed: 1)
        var sandbox = StoreIdentifiers(environment: .sandbox, seed: 1)
        let ids = (0..<1000).map { _ in production.nextTransaction() }
        #expect(Set(ids).count == 1000)
        check(ids.allSatisfy { $0.count == 15 })
        #expect(sandbox.nextTransaction().hasPrefix("2000000"))
        #expect(sandbox.nextTransaction().count == 16)
        #expect(production.nextAppTransaction().count == 18)
    }

    @Test(arguments: [("P1W", 7), ("P1M", 30), ("P3M", 90), ("P1Y", 365), ("P1Y2M3D", 428)])
    func periodsAreRead(_ text: String, _ days: Int) throws {
        #expect(try #require(Period(text)).duration == Demo.day * days)
    }

    @Test(arguments: ["", "P", "1M", "PM", "P1", "P0D", "P1H", "P-1D", "P99999999999999999999D", "P1M "])
    func whatIsNoPeriodIsRefused(_ text: String) { #expect(Period(text) == nil) }

    @Test func theAgendaGivesEarliestFirstAndEqualTimesInOrder() {
        var agenda = Agenda<Int>()
        for (item, due) in [(1, 5), (2, 3), (3, 5), (4, 1), (5, 3)] {
            agenda.add(item, due: Timestamp(milliseconds: Int64(due)))
        }
        var taken: [Int] = []
        while let (item, _) = agenda.take(by: Timestamp(milliseconds: 4)) { taken.append(item) }
        #expect(taken == [4, 2, 5])
        #expect(agenda.nextDue == Timestamp(milliseconds: 5))
    }
}
