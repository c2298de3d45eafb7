package import Time

/// The next check of a lineage with Apple.
package struct DueCheck: Sendable, Hashable {
    /// Never before the instant that was reckoned at.
    package let at: Timestamp
    package let row: CadenceRow
    package var urgency: Urgency { row.urgency }

    package init(at: Timestamp, row: CadenceRow) {
        self.at = at
        self.row = row
    }
}

/// When Apple is asked about a lineage next: a pure function of what is known of it (invariant 4).
///
/// Counted from the last date that Apple signed: whatever was heard is as good as an answer, so news puts a check off. The
/// table is `CadenceRow`.
package enum Cadence {
    /// A question that left no newer date in the record.
    package enum Asked: Sendable, Hashable {
        /// Apple answered, and nothing is new.
        case answered(Timestamp)
        /// There was no answer that can be used.
        case failed(Timestamp)
    }

    /// Nil when nobody needs to ask any more.
    package static func next(
        for record: LineageRecord, map: ProductMap, policy: EvaluationPolicy = .standard, at now: Timestamp,
        asked: Asked? = nil
    ) -> DueCheck? {
        let known = record.known(by: now)
        var heard = max(known, min(record.lastSigned ?? known, now))
        var failed: Timestamp?
        switch asked {
        case .answered(let instant): heard = max(heard, min(instant, now))
        case .failed(let instant): failed = min(instant, now)
        case nil: break
        }
        var instant = now
        // The rows that follow each other if nothing is heard; none of them has more than a few.
        for _ in 0..<32 {
            let evaluation = record.evaluated(at: instant, map: map, policy: policy)
            let period = CurrentPeriod(of: record.transactions, at: instant, map: map)
            let place = CadencePlace(evaluation, of: period, at: instant, known: known, heard: heard)
            let until = [place?.until, evaluation.nextChangeAt].compactMap(\.self).min()
            if let place, let due = place.due(heard: heard, failed: failed, jitter: jitter(record.lineage, place.row)) {
                let at = max(due, instant)
                if until.map({ at < $0 }) ?? true { return DueCheck(at: at, row: place.row) }
            }
            guard let until, until > instant else { return nil }
            instant = until
        }
        return DueCheck(at: instant, row: .unverified)
    }

    /// The row that counts now; nil when nobody needs to ask any more.
    package static func row(
        of record: LineageRecord, map: ProductMap, policy: EvaluationPolicy = .standard, at now: Timestamp
    ) -> CadenceRow? {
        let period = CurrentPeriod(of: record.transactions, at: now, map: map)
        let evaluation = record.evaluated(at: now, map: map, policy: policy)
        let known = record.known(by: now)
        let heard = max(known, min(record.lastSigned ?? known, now))
        return CadencePlace(evaluation, of: period, at: now, known: known, heard: heard)?.row
    }

    /// From 0 to below 1: always the same for a lineage and row, and as good as random among lineages.
    package static func jitter(_ lineage: LineageID, _ row: CadenceRow) -> Double {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for text in [lineage.app.rawValue, lineage.environment.rawValue, lineage.originalTransactionID, row.rawValue] {
            for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
            hash = (hash ^ 0xff) &* 0x0000_0100_0000_01b3
        }
        // FNV leaves its last byte in the low half.
        hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
        return Double(hash >> 11) / 9_007_199_254_740_992
    }
}

extension LineageRecord {
    /// The earliest date that Apple signed of it.
    package var earliestDate: Timestamp? {
        (transactions.map(\.signedDate) + [renewal?.signedDate, status?.signedDate].compactMap(\.self)).min()
    }

    /// Since when anything is known of it: a claim, where Apple has signed nothing yet.
    fileprivate func known(by now: Timestamp) -> Timestamp {
        min(earliestDate ?? claims.first?.claimedAt ?? Timestamp(milliseconds: 0), now)
    }

    /// The last date that Apple signed of it.
    package var lastSigned: Timestamp? {
        (transactions.map(\.signedDate) + [renewal?.signedDate, status?.signedDate].compactMap(\.self)).max()
    }
}
