import TestSupport
import Testing

@testable import Broker

struct SettlementLedgerTests {
    private func ledger(_ tags: ClosedRange<UInt64>) -> SettlementLedger {
        var ledger = SettlementLedger()
        for tag in tags { ledger.delivered(tag) }
        return ledger
    }

    @Test func oneWordAcknowledgesAnUnbrokenRun() {
        var ledger = ledger(1...4)
        for tag in [3, 1, 2] as [UInt64] { #expect(ledger.acknowledge(tag) == true) }
        #expect(ledger.takeAcknowledgements() == [.init(tag: 3, multiple: true)])
        #expect(ledger.count == 1)
        #expect(ledger.takeAcknowledgements().isEmpty)
    }

    @Test("Invariant 2: what is still in hand is never acknowledged by another's word")
    func aGapIsNeverCovered() {
        var ledger = ledger(1...5)
        for tag in [1, 3, 4] as [UInt64] { #expect(ledger.acknowledge(tag) == true) }
        #expect(
            ledger.takeAcknowledgements() == [
                .init(tag: 1, multiple: false), .init(tag: 3, multiple: false), .init(tag: 4, multiple: false),
            ])
        #expect(ledger.acknowledge(2) == true)
        #expect(ledger.takeAcknowledgements() == [.init(tag: 2, multiple: false)])
        #expect(ledger.count == 1)
    }

    @Test func whatWentBackNoLongerHoldsUpTheRun() {
        var ledger = ledger(1...3)
        #expect(ledger.requeue(1) == true)
        #expect([ledger.acknowledge(2), ledger.acknowledge(3)] == [true, true])
        #expect(ledger.takeAcknowledgements() == [.init(tag: 3, multiple: true)])
    }

    @Test func nothingIsSettledTwice() {
        var ledger = ledger(1...2)
        #expect(ledger.acknowledge(1) == true)
        #expect(ledger.acknowledge(1) == false)
        #expect(ledger.requeue(1) == false)
        #expect(ledger.acknowledge(7) == false)
        _ = ledger.takeAcknowledgements()
        #expect(ledger.acknowledge(1) == false)
    }
}

struct ContentAssemblerTests {
    private let delivery = ContentAssembler.Opening.delivery(
        tag: 9, redelivered: true, exchange: "e", routingKey: "k")

    @Test func aBodyInPiecesComesOutWhole() throws {
        var content = ContentAssembler()
        try content.open(delivery)
        #expect(try content.header(.init(), bodySize: 5) == nil)
        #expect(try content.body([1, 2]) == nil)
        guard case .delivered(let delivery) = try content.body([3, 4, 5]) else {
            Issue.record("no delivery")
            return
        }
        #expect(delivery.message.body == [1, 2, 3, 4, 5])
        #expect(delivery.tag == 9)
        #expect(delivery.isRedelivered)
    }

    @Test func framesOutOfPlaceAreErrors() throws {
        var content = ContentAssembler(maximumBodyBytes: 10)
        #expect(throws: BrokerError.self) { try content.header(.init(), bodySize: 0) }
        #expect(throws: BrokerError.self) { try content.body([1]) }
        try content.open(delivery)
        #expect(throws: BrokerError.self) { try content.open(delivery) }
        #expect(throws: BrokerError.self) { try content.header(.init(), bodySize: 11) }
        #expect(try content.header(.init(), bodySize: 2) == nil)
        #expect(throws: BrokerError.self) { try content.body([1, 2, 3]) }
    }
}

extension ConnectionEvent? {
    fileprivate static func == (event: ConnectionEvent?, none: ConnectionEvent?) -> Bool {
        if case .none = event, case .none = none { true } else { false }
    }
}

struct BackoffTests {
    @Test func waitsDoubleUpToTheMaximumAndStartOver() {
        var backoff = Backoff(minimum: .milliseconds(100), maximum: .milliseconds(500))
        check((0..<4).map { _ in backoff.delay(chance: 1) } == [100, 200, 400, 500].map { .milliseconds($0) })
        #expect(backoff.delay(chance: 0) == .milliseconds(250))
        backoff.reset()
        #expect(backoff.delay(chance: 1) == .milliseconds(100))
    }
}

struct RetryLevelTests {
    @Test func waitsGrowWithEachAttemptAndTheLastIsForEver() {
        check(RetryLevel.allCases.map(\.delay) == [1, 5, 30, 300, 1800].map { .seconds($0) })
        check(
            [0, 1, 2, 5, 6, 999].map { RetryLevel.after(attempts: $0).name } == ["1s", "1s", "5s", "30m", "30m", "30m"])
    }
}
