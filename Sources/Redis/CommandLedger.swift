/// The commands sent and not yet answered, in the order in which Redis will answer. No I/O and no clock.
struct CommandLedger<Waiter> {
    struct Entry {
        let waiter: Waiter
        let deadline: ContinuousClock.Instant
    }

    private var entries: [Entry] = []
    private var first = 0

    var count: Int { entries.count - first }

    mutating func add(_ waiter: Waiter, until deadline: ContinuousClock.Instant) {
        entries.append(Entry(waiter: waiter, deadline: deadline))
    }

    /// Takes the command that the next reply belongs to.
    mutating func takeFirst() -> Entry? {
        guard first < entries.count else { return nil }
        let entry = entries[first]
        first += 1
        if first == entries.count {
            entries.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 1024 {
            entries.removeSubrange(..<first)
            first = 0
        }
        return entry
    }

    /// The deadline that passes first. Commands may differ in patience, so it need not be the oldest's.
    var nextDeadline: ContinuousClock.Instant? { entries[first...].lazy.map(\.deadline).min() }
}
