/// Which deliveries of one connection are in hand, and how to acknowledge those that are done with few words: one
/// acknowledgement covers all up to its tag when none of them is in hand any more.
///
/// No I/O, no clock, no lock.
struct SettlementLedger {
    struct Acknowledgement: Equatable {
        let tag: UInt64
        let multiple: Bool
    }

    /// In hand, in the order of delivery; tags grow.
    private var unsettled: [UInt64] = []
    private var done: Set<UInt64> = []

    /// Deliveries that the broker still counts as ours.
    var count: Int { unsettled.count }

    mutating func delivered(_ tag: UInt64) { unsettled.append(tag) }

    /// Notes that a delivery is done with; false if it is not in hand.
    mutating func acknowledge(_ tag: UInt64) -> Bool {
        guard isInHand(tag) else { return false }
        return done.insert(tag).inserted
    }

    /// Takes a delivery out, to be given back on its own; false if it is not in hand.
    mutating func requeue(_ tag: UInt64) -> Bool {
        guard !done.contains(tag), let index = unsettled.firstIndex(of: tag) else { return false }
        unsettled.remove(at: index)
        return true
    }

    /// What to say for all that was acknowledged since the last time.
    mutating func takeAcknowledgements() -> [Acknowledgement] {
        guard !done.isEmpty else { return [] }
        var acknowledgements: [Acknowledgement] = []
        let run = unsettled.prefix { done.contains($0) }
        if let last = run.last { acknowledgements.append(Acknowledgement(tag: last, multiple: run.count > 1)) }
        acknowledgements += unsettled.dropFirst(run.count).filter { done.contains($0) }
            .map { Acknowledgement(tag: $0, multiple: false) }
        unsettled.removeAll { done.contains($0) }
        done.removeAll(keepingCapacity: true)
        return acknowledgements
    }

    private func isInHand(_ tag: UInt64) -> Bool {
        // Binary search: the array grows by tag.
        var (low, high) = (0, unsettled.count)
        while low < high {
            let middle = (low + high) / 2
            if unsettled[middle] < tag { low = middle + 1 } else { high = middle }
        }
        return low < unsettled.count && unsettled[low] == tag
    }
}
