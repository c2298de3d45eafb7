import Runtime
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// A broker that takes, refuses or is away as the test says.
final class FakeSink: MessageSink {
    struct State {
        var isHealthy = true
        var isAvailable = true
        var refused: Set<String> = []
        var stored: [IntakeMessage] = []
        var attempts = 0
        /// It goes away when it holds so many.
        var limit = Int.max
    }

    let state = Mutex(State())

    var isHealthy: Bool { state.withLock { $0.isHealthy } }
    var stored: [IntakeMessage] { state.withLock { $0.stored } }
    var numbers: [Int] { stored.compactMap { $0.headers["number"].flatMap { Int($0) } } }

    func set(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    func store(_ message: IntakeMessage) async throws(SinkFailure) {
        let failure: SinkFailure? = state.withLock { state in
            state.attempts += 1
            if !state.isAvailable || state.stored.count >= state.limit { return .unavailable("away") }
            if state.refused.contains(message.headers["number"] ?? "") { return .refused("nacked") }
            state.stored.append(message)
            return nil
        }
        if let failure { throw failure }
        // The confirm comes later.
        await Task.yield()
    }
}

@Suite("Spool drainer", .timeLimit(.minutes(6)))
struct SpoolDrainerTests {
    private func drainer(_ fixture: SpoolFixture, _ spool: Spool, _ sink: FakeSink, window: Int = 16) -> SpoolDrainer {
        SpoolDrainer(
            spool: spool, sink: sink, window: window, shortestPause: .milliseconds(2), longestPause: .milliseconds(10),
            metrics: fixture.metrics, log: .discarding)
    }

    @Test("Invariant 2: what is spooled reaches the broker in order, and the disk is freed")
    func drainsInOrder() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        for number in 0..<500 {
            let message = IntakeMessage(
                destination: number % 2 == 0 ? .intake : .quarantine, headers: ["number": "\(number)"],
                messageID: "id-\(number)", body: [UInt8](repeating: 1, count: 5000))
            try await spool.append(message.record)
        }
        let sink = FakeSink()
        let drainer = drainer(fixture, spool, sink)
        try await drainer.start()
        check(try await eventually { spool.pending == 0 })
        #expect(sink.numbers == Array(0..<500))
        #expect(sink.stored[7].messageID == "id-7")
        #expect(sink.stored[7].destination == .quarantine)
        #expect(sink.stored[8].destination == .intake)
        #expect(sink.stored[8].headers == ["number": "8", "spooled": "true"])
        #expect(try fixture.segments().count == 1)
        // What comes later wakes it.
        try await spool.append(numbered: 500..<501)
        check(try await eventually { sink.numbers.last == 500 && spool.pending == 0 })
        await drainer.drain()
        await spool.drain()
    }

    @Test("Invariant 1: nothing is written off before the broker confirms it")
    func waitsForTheBroker() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        try await spool.append(numbered: 0..<100)
        let sink = FakeSink()
        sink.set { $0.isAvailable = false }
        let drainer = drainer(fixture, spool, sink)
        try await drainer.start()
        check(try await eventually { sink.state.withLock { $0.attempts } > 50 })
        #expect(spool.cursor == 1)
        sink.set { $0.isHealthy = false }
        sink.set { $0.isAvailable = true }
        // The spool still takes what comes in while it waits.
        try await spool.append(numbered: 100..<120)
        sink.set { $0.isHealthy = true }
        check(try await eventually { spool.pending == 0 })
        #expect(Set(sink.numbers) == Set(0..<120))
        await drainer.drain()
        await spool.drain()
    }

    @Test("Invariant 2: a drainer that is stopped anywhere loses nothing")
    func restartsAnywhere() async throws {
        let fixture = try SpoolFixture()
        let first = try await fixture.open()
        try await first.append(numbered: 0..<400)
        await first.drain()
        let sink = FakeSink()
        for round in 1...5 {
            sink.set { $0.limit = round * 40 }
            let spool = try await fixture.open()
            let drainer = drainer(fixture, spool, sink)
            try await drainer.start()
            check(try await eventually { sink.stored.count == round * 40 })
            await drainer.drain()
            await spool.drain()
        }
        let spool = try await fixture.open()
        #expect(spool.pending > 0)
        sink.set { $0.limit = .max }
        let last = drainer(fixture, spool, sink)
        try await last.start()
        check(try await eventually { spool.pending == 0 })
        #expect(Set(sink.numbers) == Set(0..<400))
        await last.drain()
        await spool.drain()
    }

    @Test("Invariant 2: a record that is refused for ever holds up nobody, is never dropped, and is shown")
    func aRefusedRecordGoesToTheEnd() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        let sink = FakeSink()
        sink.set { $0.refused = ["3"] }
        try await spool.append(numbered: 0..<50)
        let drainer = drainer(fixture, spool, sink)
        try await drainer.start()
        check(try await eventually { sink.stored.count == 49 })
        #expect(spool.cursor <= 4)
        check(try await eventually { fixture.metrics.gauge("holdfast_spool_refused_records", "").value == 1 })
        // Others come, it has been patient, and moves behind them.
        check(
            try await eventually {
                try await spool.append(numbered: 100..<101)
                return fixture.counter("holdfast_spool_moved_total") > 0
            })
        check(try await eventually { spool.cursor > 50 })
        #expect(spool.pending > 0)
        sink.set { $0.refused = [] }
        check(try await eventually { spool.pending == 0 })
        #expect(sink.numbers.contains(3))
        await drainer.drain()
        await spool.drain()
    }

    @Test func aSpoolThatIsOnlyRefusedIsKeptAsItIs() {
        var ledger = DrainLedger(next: 1, passing: 2)
        let entries = (1...3).map { SpoolEntry(sequence: $0, record: SpoolRecord(body: [])) }
        ledger.took(SpoolBatch(entries: entries, end: 4))
        for _ in 0..<100 { #expect(ledger.wasRefused(2) == .tryAgain) }
        #expect(ledger.cursor == 1)
        ledger.wasConfirmed(1)
        #expect(ledger.cursor == 2)
        #expect(ledger.wasRefused(2) == .tryAgain)
        ledger.wasConfirmed(3)
        #expect(ledger.cursor == 2)
        #expect(ledger.wasRefused(2) == .moveToEnd)
        ledger.wasMoved(2)
        #expect(ledger.cursor == 4)
    }

    @Test func whatAnUnknownVersionSpooledGoesToQuarantine() {
        let record = SpoolRecord(attributes: [":destination": "somewhere", "app": "demo"], body: [1])
        #expect(IntakeMessage(spooled: record).destination == .quarantine)
        #expect(IntakeMessage(spooled: record).headers == ["app": "demo", "spooled": "true"])
    }
}
