/// What a comparison with the live state found.
package struct ComparisonReport: Sendable {
    /// Lineages of the fold, and those that are live only.
    package var compared = 0
    package var equal = 0
    package var counts: [LineageDifference.Kind: Int] = [:]
    /// Of all that differ: those of which all that the ledger lacks was signed before it begins.
    package var olderThanLedger = 0
    /// Of all that differ: those that are answered differently now.
    package var answeredDifferently = 0
    /// Of all that differ: those whose records lack what the ledger has.
    package var liveLacks = 0
    /// The first so many that count; the rest is in the counts.
    package var differences: [LineageDifference] = []
    /// Those that went on changing for as long as they were looked at.
    package var unsettled = 0
    /// Messages that wait to be applied: what the live state lacks may be in them.
    package var waiting = 0
    package var isInterrupted = false

    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Those that are to be called differences.
    package var differing: Int { counts.values.reduce(0, +) - olderThanLedger }

    mutating func add(_ difference: LineageDifference) {
        counts[difference.kind, default: 0] += 1
        if !difference.evaluation.isEmpty { answeredDifferently += 1 }
        if difference.liveLacks { liveLacks += 1 }
        guard difference.counts else {
            olderThanLedger += 1
            return
        }
        if differences.count < limit { differences.append(difference) }
    }
}
