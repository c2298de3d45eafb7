import Testing

@testable import Broker

struct ConfirmLedgerTests {
    private let start = ContinuousClock.now

    /// A ledger with the waiters 1…count, sent a second apart, each with ten seconds to wait.
    private func ledger(_ count: Int) -> ConfirmLedger<Int> {
        var ledger = ConfirmLedger<Int>()
        for number in 1...count {
            let sentAt = start + .seconds(number)
            ledger.add(number, sentAt: sentAt, deadline: sentAt + .seconds(10))
        }
        return ledger
    }

    @Test func oneConfirmSettlesOneMessage() throws {
        var ledger = ledger(3)
        let settled = try ledger.settle(2, multiple: false, confirmed: true)
        #expect(settled.map(\.waiter) == [2])
        #expect(settled.map(\.outcome) == [.confirmed])
        #expect(ledger.outstandingCount == 2)
        #expect(ledger.oldestSentAt == start + .seconds(1))
    }

    @Test func multipleSettlesAllUpToTheTag() throws {
        var ledger = ledger(5)
        _ = try ledger.settle(2, multiple: false, confirmed: true)
        #expect(try ledger.settle(4, multiple: true, confirmed: true).map(\.waiter) == [1, 3, 4])
        #expect(ledger.outstandingCount == 1)
        #expect(ledger.oldestSentAt == start + .seconds(5))
        #expect(ledger.nextTag == 6)
    }

    @Test func multipleWithTagZeroSettlesAll() throws {
        var ledger = ledger(3)
        #expect(
            try ledger.settle(0, multiple: true, confirmed: false).map(\.outcome) == [.refused, .refused, .refused])
        #expect(ledger.oldestSentAt == nil)
    }

    @Test func aReturnedMessageIsUnroutableOnceItsConfirmComes() throws {
        var ledger = ledger(2)
        ledger.returned(1, reason: "NO_ROUTE")
        let settled = try ledger.settle(2, multiple: true, confirmed: true)
        #expect(settled.map(\.outcome) == [.unroutable("NO_ROUTE"), .confirmed])
    }

    @Test func aTagNeverSentIsTheBrokersMistake() {
        var ledger = ledger(2)
        #expect(throws: BrokerError.self) { try ledger.settle(3, multiple: false, confirmed: true) }
        #expect(throws: BrokerError.self) { try ledger.settle(.max, multiple: true, confirmed: true) }
        #expect(throws: BrokerError.self) { try ledger.settle(0, multiple: false, confirmed: true) }
        #expect(ledger.outstandingCount == 2)
    }

    @Test func aSecondConfirmIsIgnored() throws {
        var ledger = ledger(2)
        _ = try ledger.settle(1, multiple: false, confirmed: true)
        #expect(try ledger.settle(1, multiple: false, confirmed: true).isEmpty)
        #expect(try ledger.settle(1, multiple: true, confirmed: true).isEmpty)
        #expect(ledger.outstandingCount == 1)
    }

    @Test func whoGaveUpIsGoneAndTheMessageStaysOutstanding() throws {
        var ledger = ledger(3)
        #expect(ledger.expire(by: start + .seconds(12)) == [1, 2])
        #expect(ledger.outstandingCount == 3)
        #expect(ledger.oldestSentAt == start + .seconds(1))
        #expect(ledger.nextDeadline == start + .seconds(13))
        #expect(ledger.hasWaiters)
        #expect(try ledger.settle(3, multiple: true, confirmed: true).map(\.waiter) == [3])
        #expect(!ledger.hasWaiters)
    }

    @Test func aLostConnectionReturnsWhoStillWaitsAndCountsFromOneAgain() throws {
        var ledger = ledger(3)
        _ = try ledger.settle(2, multiple: false, confirmed: true)
        #expect(ledger.reset() == [1, 3])
        #expect(ledger.nextTag == 1)
        #expect(ledger.oldestSentAt == nil)
    }

    @Test func tagsStayRightOverManyMessages() throws {
        var ledger = ConfirmLedger<UInt64>()
        for tag in 1...5000 as ClosedRange<UInt64> {
            #expect(ledger.nextTag == tag)
            ledger.add(tag, sentAt: start, deadline: start)
            guard tag > 10 else { continue }
            #expect(try ledger.settle(tag - 10, multiple: false, confirmed: true).map(\.waiter) == [tag - 10])
        }
        #expect(ledger.outstandingCount == 10)
    }
}
