package import Time

/// How far a lineage's history has come: when its last entry took effect, and the state that it left.
package struct HistoryMark: Sendable, Hashable {
    package var at: Timestamp
    /// nil: that nothing had begun, or that nobody knows.
    package var state: LineageState?

    package init(at instant: Timestamp, state: LineageState?) { (at, self.state) = (instant, state) }

    /// Of a history, oldest entry first; nil when there is nothing in it about states.
    package init?(of entries: some BidirectionalCollection<HistoryEntry>) {
        guard let last = entries.last(where: { $0.kind != .transfer }) else { return nil }
        self.init(at: last.at, state: last.to)
    }
}

extension HistoryEntry {
    /// What is added to the history when an observation was folded in: first what time alone made since `mark`, then
    /// what the observation made, oldest first.
    ///
    /// Each notification that changed the record leaves an entry, so that the history is also the list of what Apple
    /// sent; an answer only if it shows. To be asked only when the record changed, so that a repetition leaves nothing.
    /// Pure: nothing is read but the arguments.
    ///
    /// - Parameters:
    ///   - before: What was known before; nil when the lineage is new.
    ///   - verifiedAt: When the observation was verified. A clock behind Apple's must not put down to time what an
    ///     observation made: news is never older than its own signature here.
    ///   - mark: Where the history stands; nil when it has no entry.
    package static func made(
        by observation: Observation, through cause: TransitionCause, before: LineageRecord?, after: LineageRecord,
        verifiedAt: Timestamp, since mark: HistoryMark?, map: ProductMap, policy: EvaluationPolicy
    ) -> [HistoryEntry] {
        let instant = [verifiedAt, observation.newestSignature, mark?.at].compactMap(\.self).max() ?? verifiedAt
        let was = Standing(
            of: before ?? LineageRecord(lineage: after.lineage), at: instant, map: map, policy: policy)
        var entries: [HistoryEntry] = []
        if let before, let mark {
            entries = madeByTime(in: before, since: mark, until: instant, map: map, policy: policy)
            let state = entries.last.map(\.to) ?? mark.state
            if let state, let now = was.state, state != now {
                // No fact made it so, and no instant that was passed.
                entries.append(HistoryEntry(through: .map, from: state, to: was, at: instant))
            }
        }
        let standing = Standing(of: after, at: instant, map: map, policy: policy)
        let isLate = before?.newestSignature.map { observation.newestSignature < $0 } ?? false
        if let state = standing.state, was.state != state {
            entries.append(
                HistoryEntry(
                    through: cause, from: was.state, to: standing, at: instant,
                    detail: HistoryDetail(from: was, to: standing), isLate: isLate, news: observation))
        } else if let detail = HistoryDetail(of: observation, through: cause, from: was, to: standing) {
            entries.append(change(through: cause, standing, at: instant, detail, news: observation))
        } else if observation.source == .notification {
            entries.append(change(through: cause, standing, at: instant, nil, news: observation))
        }
        return entries
    }

    /// What time alone made of a record since `mark`, up to and including `instant`: for whoever adds to a history, and
    /// for whoever reads one.
    package static func madeByTime(
        in record: LineageRecord, since mark: HistoryMark, until instant: Timestamp, map: ProductMap,
        policy: EvaluationPolicy
    ) -> [HistoryEntry] {
        // Facts are kept in their last version: before that was signed, they say nothing of how things stood.
        let start = max(mark.at, record.newestSignature ?? mark.at)
        guard start < instant else { return [] }
        var standing = Standing(of: record, at: start, map: map, policy: policy)
        var state = mark.state ?? standing.state
        var entries: [HistoryEntry] = []
        // Each transaction begins, ends, is taken back and stops being held at most once, and a renewal has one grace.
        for _ in 0..<(8 + 4 * LineageRecord.maximumTransactions) {
            guard let next = standing.evaluation.nextChangeAt, next <= instant else { break }
            let then = Standing(of: record, at: next, map: map, policy: policy)
            let detail = HistoryDetail(from: standing, to: then)
            if let now = then.state, now != state {
                entries.append(HistoryEntry(through: .time, from: state, to: then, at: next, detail: detail))
                state = now
            } else if detail == .renewed || detail == .product {
                entries.append(change(through: .time, then, at: next, detail, news: nil))
            }
            standing = then
        }
        return entries.suffix(mostMadeByTime)
    }

    /// Of more, only the last count: nobody was here to see the others.
    private static let mostMadeByTime = 16

    private init(
        through cause: TransitionCause, from: LineageState?, to standing: Standing, at instant: Timestamp,
        detail: HistoryDetail? = nil, isLate: Bool = false, news: Observation? = nil
    ) {
        let state = standing.evaluation.state
        self.init(
            kind: .transition, at: instant, cause: cause, from: from, to: state,
            isUnexpected: !isLate && !LegalTransitions.knows(from: from, to: state, through: cause),
            detail: detail?.rawValue, productID: standing.evaluation.productID, news: news)
    }

    private static func change(
        through cause: TransitionCause, _ standing: Standing, at instant: Timestamp, _ detail: HistoryDetail?,
        news: Observation?
    ) -> HistoryEntry {
        HistoryEntry(
            kind: .change, at: instant, cause: cause, from: standing.state, to: standing.state,
            detail: detail?.rawValue, productID: standing.evaluation.productID, news: news)
    }
}

extension HistoryDetail {
    /// What an observation changed without another state.
    fileprivate init?(
        of observation: Observation, through cause: TransitionCause, from before: Standing, to after: Standing
    ) {
        if let detail = HistoryDetail(from: before, to: after) {
            self = detail
        } else if let transaction = observation.transaction, let current = after.transaction,
            transaction.transactionID != current.transactionID, observation.source == .notification
        {
            let isRevoked = transaction.revocationDate != nil
            if transaction.purchaseDate > current.purchaseDate {
                self = cause == .renewal && !isRevoked ? .renewedAhead : .laterPeriod
            } else {
                self = isRevoked ? .olderRefund : .olderTransaction
            }
        } else {
            return nil
        }
    }
}

extension Observation {
    /// When the newest part of it was signed.
    var newestSignature: Timestamp {
        [transaction?.signedDate, renewal?.signedDate, status?.signedDate].compactMap(\.self).max() ?? signedDate
    }
}

extension LineageRecord {
    /// When the newest fact was signed; nil without any.
    var newestSignature: Timestamp? {
        [transactions.map(\.signedDate).max(), renewal?.signedDate, status?.signedDate].compactMap(\.self).max()
    }
}
