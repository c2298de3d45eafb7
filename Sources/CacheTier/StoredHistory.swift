internal import Entitlements
internal import Time

/// A lineage's history as it is stored, oldest entry first. Entries that this version cannot read are kept as they are.
struct StoredHistory {
    private struct Line {
        var bytes: [UInt8]
        /// Nil when a newer version wrote it.
        var entry: HistoryEntry?
        /// For one that cannot be read, that of the entry before.
        var at: Timestamp
    }

    private var lines: [Line] = []
    private var known: Set<[UInt8]> = []

    /// Joins another holder's history of the same lineage: what both have is there once, and it stays in order.
    mutating func add(_ stored: [[UInt8]]) {
        let before = lines.count
        var at = Timestamp(milliseconds: .min)
        for bytes in stored {
            let entry = try? HistoryEntry(decoding: bytes)
            at = entry?.at ?? at
            guard known.insert(Self.identity(entry) ?? bytes).inserted else { continue }
            lines.append(Line(bytes: bytes, entry: entry, at: at))
        }
        // Entries that came one after the other stay so, whatever the clocks said, unless others come in between.
        guard before > 0, lines.count > before else { return }
        let ordered = lines.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        lines = ordered.map(\.element)
    }

    /// Two processes that were told the same at about the same time may both have noted it, each by its clock and by
    /// what it knew. Of transfers, only whose they are counts.
    private static func identity(_ entry: HistoryEntry?) -> [UInt8]? {
        guard var entry, entry.signedDate != nil else { return nil }
        if entry.kind != .transfer, let uuid = entry.notificationUUID { return Array(uuid.utf8) }
        entry.at = Timestamp(milliseconds: 0)
        return entry.encoded()
    }

    var stored: [[UInt8]] { lines.map(\.bytes) }
    var entries: [HistoryEntry] { lines.compactMap(\.entry) }
    var unreadable: Int { lines.count { $0.entry == nil } }

    // MARK: Transfers

    /// When the lineage moved from one customer to another: what the limit on moving to and fro counts.
    var transfers: [Timestamp] {
        entries.filter { $0.kind == .transfer && $0.fromCustomer != nil && $0.toCustomer != nil }.map(\.at)
    }

    /// For every customer of whom a transfer tells, whether the last one says that the customer has it.
    private var lastWords: [Holder: Bool] {
        var words: [Holder: Bool] = [:]
        for entry in entries where entry.kind == .transfer {
            if let customer = entry.fromCustomer { words[.customer(customer)] = false }
            if let customer = entry.toCustomer { words[.customer(customer)] = true }
        }
        return words
    }

    /// Who has it now and who has it no more, as far as the history does not say so already.
    ///
    /// It is the history that is asked, and those that had it by the locator only where it is silent: the entry is
    /// written with the record, and the locator is changed after that, so a move that was interrupted may have been told.
    func untoldTransfer(from held: [Holder], to holders: [Holder]) -> (lost: [String], gained: [String]) {
        let words = lastWords
        func isHolder(_ holder: Holder) -> Bool { words[holder] ?? held.contains(holder) }
        let candidates = Set(held).union(words.keys).subtracting(holders).sorted()
        return (
            candidates.filter(isHolder).compactMap(\.customer),
            holders.filter { !isHolder($0) }.compactMap(\.customer)
        )
    }
}
