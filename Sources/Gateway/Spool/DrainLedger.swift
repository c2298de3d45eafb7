/// Which spooled records are confirmed, which must be tried again, and how far the cursor may go. No clock, no I/O.
struct DrainLedger {
    /// What to do with a record that was not taken.
    enum Verdict: Hashable {
        case tryAgain
        /// It has been refused often while others were taken: behind all others with it, so that it holds up nobody.
        case moveToEnd
    }

    private struct Unconfirmed {
        let entry: SpoolEntry
        var refusals = 0
        /// How many had been confirmed when it was first refused.
        var confirmedBefore: UInt64
    }

    /// Refusals after which a record is moved.
    static let patience = 8

    private var unconfirmed: [UInt64: Unconfirmed] = [:]
    private(set) var confirmed: UInt64 = 0
    /// Where reading goes on.
    private(set) var next: UInt64
    /// The last batch brought records, so there may be more behind them.
    private(set) var hasMore = false

    /// Confirmations of others, beyond which a refused record stands no chance by waiting its turn.
    private let passing: UInt64

    /// `passing` should exceed the number of records at hand: when a full queue gives way now and then, the oldest are
    /// taken first, and nobody is overtaken by so many.
    init(next: UInt64, passing: UInt64) {
        self.next = next
        self.passing = passing
    }

    /// All below are with the broker.
    var cursor: UInt64 { unconfirmed.keys.min() ?? next }
    var unconfirmedCount: Int { unconfirmed.count }
    /// To be tried again, oldest first.
    var toTry: [SpoolEntry] { unconfirmed.values.map(\.entry).sorted { $0.sequence < $1.sequence } }

    mutating func took(_ batch: SpoolBatch) {
        next = max(next, batch.end)
        hasMore = !batch.entries.isEmpty
        for entry in batch.entries {
            unconfirmed[entry.sequence] = Unconfirmed(entry: entry, confirmedBefore: confirmed)
        }
    }

    mutating func wasConfirmed(_ sequence: UInt64) {
        unconfirmed[sequence] = nil
        confirmed &+= 1
    }

    /// The record itself was not taken.
    mutating func wasRefused(_ sequence: UInt64) -> Verdict {
        guard var record = unconfirmed[sequence] else { return .tryAgain }
        if record.refusals == 0 { record.confirmedBefore = confirmed }
        record.refusals += 1
        unconfirmed[sequence] = record
        return record.refusals >= Self.patience && confirmed - record.confirmedBefore >= passing
            ? .moveToEnd : .tryAgain
    }

    /// It lies at the end of the spool, durably.
    mutating func wasMoved(_ sequence: UInt64) { unconfirmed[sequence] = nil }
}
