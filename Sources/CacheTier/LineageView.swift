internal import Entitlements
internal import Time

/// Who has a lineage, and who else may have a copy of it.
struct LineageLocator {
    /// One; several under `share`; none for a lineage that is new.
    var holders: [Holder] = []
    /// Who else may have a copy, with the number by which it is forgotten.
    var copies: [Holder: UInt64] = [:]
    /// Raised whenever something is about to move, or has moved.
    var number: UInt64 = 0
    /// A record with what was accepted and may not have reached every holder; as stored.
    var news: [UInt8]?

    /// As `holder` stands in Redis. Ids are escaped, so none has a blank.
    static func text(_ holders: [Holder]) -> String { holders.map(\.id).joined(separator: " ") }
}

/// A holder's copy of a lineage, or its absence.
struct HolderCopy {
    /// What `StoreScripts.write` wants to hear.
    var seen: String
    /// The holder's revision.
    var revision: UInt64
    var record: LineageRecord?
}

/// All that the store has of one lineage, as it was read.
struct LineageView {
    let lineage: LineageID
    var locator: LineageLocator
    var copies: [Holder: HolderCopy] = [:]
    /// Who may have a copy without having the lineage, with the number by which it is forgotten; 0 for a copy that the
    /// locator does not know of.
    var suspects: [Holder: UInt64]
    /// The locator's news, read.
    var accepted: LineageRecord?
    /// What all copies know together; nil when there is none.
    var before: LineageRecord?
    /// The same with the locator's news, and with whatever the reader folds in.
    var record: LineageRecord

    init(_ lineage: LineageID, _ locator: LineageLocator) {
        self.lineage = lineage
        self.locator = locator
        suspects = locator.copies
        record = LineageRecord(lineage: lineage)
    }

    /// The locator's news as an observation, for the history: who noted it may have been interrupted before it was told.
    var news: Observation? {
        guard locator.news != nil, let accepted else { return nil }
        let dates = [accepted.transactions.last?.signedDate, accepted.claims.last?.claimedAt].compactMap(\.self)
        return Observation(
            lineage: lineage, source: .device, signedDate: dates.first ?? Timestamp(milliseconds: 0),
            transaction: accepted.transactions.last, renewal: accepted.renewal, status: accepted.status,
            claim: accepted.claims.last)
    }

    mutating func take(_ copy: HolderCopy, of holder: Holder) {
        copies[holder] = copy
        guard let found = copy.record else { return }
        // Unknown to the locator, so it should not be; but what is there must not be lost.
        if !locator.holders.contains(holder), suspects[holder] == nil { suspects[holder] = 0 }
        before = before?.merging(found) ?? found
        record.merge(found)
    }

    /// That nothing was changed.
    var asItIs: AppliedChange {
        AppliedChange(
            changed: false, holders: locator.holders, previousHolders: locator.holders,
            revisions: copies.mapValues(\.revision).filter { locator.holders.contains($0.key) }, before: before,
            after: before ?? record)
    }

    /// Whose histories there are: those of holders first.
    var keepers: [Holder] {
        (locator.holders + suspects.keys.filter { !locator.holders.contains($0) }.sorted())
            .filter { copies[$0]?.record != nil }
    }

    /// Whether every holder has all that is known and nobody else has anything.
    func isSettled(under policy: TransferPolicy) -> Bool {
        guard before != nil || !locator.holders.isEmpty else { return suspects.isEmpty && locator.news == nil }
        return locator.news == nil && suspects.isEmpty && Holder.all(of: record, under: policy) == locator.holders
            && locator.holders.allSatisfy { copies[$0]?.record == record }
    }
}
