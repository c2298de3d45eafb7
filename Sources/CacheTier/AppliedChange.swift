package import Entitlements

/// What applying one observation, or one claim, did.
package struct AppliedChange: Sendable, Hashable {
    /// Whether the store was changed: the record, or who has it.
    package var changed: Bool
    /// Who has the lineage now: one customer, several under `share`, or the pseudo-holder of an unclaimed one; never
    /// empty, and in the order of their ids.
    package var holders: [Holder]
    /// Who had it before; empty when the lineage is new.
    package var previousHolders: [Holder]
    /// Each holder's revision after the last write; none when nothing is stored.
    package var revisions: [Holder: UInt64]
    /// What was known before; nil when the lineage is new.
    package var before: LineageRecord?
    package var after: LineageRecord
    /// What was added to the lineage's history.
    package var entries: [HistoryEntry]

    package init(
        changed: Bool, holders: [Holder], previousHolders: [Holder] = [], revisions: [Holder: UInt64] = [:],
        before: LineageRecord? = nil, after: LineageRecord, entries: [HistoryEntry] = []
    ) {
        self.changed = changed
        self.holders = holders
        self.previousHolders = previousHolders
        self.revisions = revisions
        self.before = before
        self.after = after
        self.entries = entries
    }

    /// Customers who have it now and had it not before.
    package var gained: [String] { holders.filter { !previousHolders.contains($0) }.compactMap(\.customer) }
    /// Customers who had it before and have it no more.
    package var lost: [String] { previousHolders.filter { !holders.contains($0) }.compactMap(\.customer) }

    /// The holder; under `share`, the first of them.
    package var holder: Holder { holders.first ?? .unclaimed(after.lineage.originalTransactionID) }
    /// Somebody who had the lineage before and has it no more.
    package var previousHolder: Holder? { previousHolders.first { !holders.contains($0) } }
    /// The revision of `holder`; 0 when nothing is stored.
    package var revision: UInt64 { revisions[holder] ?? 0 }
}
