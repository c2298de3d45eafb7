/// Counts events by their id: what comes again under one id harms nobody who keeps ids; what says twice that something
/// changed would.
struct EventLedger: Sendable {
    private struct Seen {
        var count = 0
        var changes = 0
    }

    private var seen: [String: Seen] = [:]
    private(set) var events = 0
    private(set) var kinds: [String: Int] = [:]

    /// `changed` is what the event says of itself; nil when it says nothing.
    mutating func add(_ id: String?, kind: String, changed: Bool?) {
        events += 1
        kinds[kind, default: 0] += 1
        guard let id else { return }
        seen[id, default: Seen()].count += 1
        if changed == true { seen[id, default: Seen()].changes += 1 }
    }

    var ids: Int { seen.count }
    /// Events under an id that had come before.
    var repeated: Int { seen.values.map { $0.count - 1 }.reduce(0, +) }
    /// Ids under which a change was told more than once.
    var changesRepeated: [String] { seen.filter { $0.value.changes > 1 }.keys.sorted() }
}
