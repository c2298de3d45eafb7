package import Entitlements
internal import Runtime

/// One lineage, with who has it.
package struct FoundLineage: Sendable, Hashable {
    /// Never empty; several under `share`.
    package let holders: [Holder]
    package let record: LineageRecord

    package var holder: Holder { holders.first ?? .unclaimed(record.lineage.originalTransactionID) }
}

extension LineageStore {
    /// All lineages of a customer; none for a customer nobody knows.
    package func records(of key: CustomerKey) async throws(StoreError) -> [LineageRecord] {
        try await verifyLayout()
        return try await CustomerReader(redis: link.redis).read(key).records
    }

    /// Who has a lineage, and its record; nil for one that nobody has heard of.
    package func find(_ id: LineageID) async throws(StoreError) -> FoundLineage? {
        try await verifyLayout()
        let view = try await LineageReader(link: link, keys: StoredLineageKeys(id)).view()
        guard !view.locator.holders.isEmpty, view.before != nil else { return nil }
        return FoundLineage(holders: view.locator.holders, record: view.record)
    }

    /// What happened to a lineage, oldest first; empty for one that nobody has heard of. What a newer version wrote is
    /// left out and counted.
    package func history(of id: LineageID) async throws(StoreError) -> [HistoryEntry] {
        try await verifyLayout()
        let reader = LineageReader(link: link, keys: StoredLineageKeys(id))
        var (locator, history) = (try await reader.locator(), StoredHistory())
        for _ in 0..<8 {
            history = try await reader.history(of: locator.holders + locator.copies.keys.sorted())
            guard history.stored.isEmpty else { break }
            // It may have moved to others while it was looked for.
            let now = try await reader.locator()
            guard now.number != locator.number else { break }
            locator = now
        }
        metrics.unreadableEntries.increment(by: UInt64(clamping: history.unreadable))
        return history.entries
    }
}
