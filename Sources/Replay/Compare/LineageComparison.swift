package import CacheTier
package import Entitlements
internal import JSON
package import Time

/// Compares one lineage of a fold with the live one. Pure.
package struct LineageComparison: Sendable {
    package let rules: [AppID: AppRules]
    /// When answers are compared.
    package let instant: Timestamp
    /// When the ledger begins, if retention has cut off what was before; what Apple signed earlier may have been in it.
    package let ledgerBegins: Timestamp?

    package init(rules: [AppID: AppRules], at instant: Timestamp, ledgerBegins: Timestamp? = nil) {
        self.rules = rules
        self.instant = instant
        self.ledgerBegins = ledgerBegins
    }

    /// Nil when they are the same.
    package func difference(
        _ lineage: LineageID, ledger: LineageRecord?, live: LineageRecord?
    ) throws(ReplayError) -> LineageDifference? {
        let empty = LineageRecord(lineage: lineage)
        let (mine, theirs) = (ledger ?? empty, live ?? empty)
        guard mine != theirs || (ledger == nil) != (live == nil) else { return nil }
        var difference = LineageDifference(
            lineage, ledger == nil ? .onlyLive : live == nil ? .onlyInLedger : .differs)
        let joined = theirs.merging(mine)
        difference.liveLacks = joined != theirs || live == nil
        difference.liveHasMore = joined != mine || ledger == nil
        if let ledgerBegins, !difference.liveLacks {
            difference.mayBeOlderThanLedger = theirs.newestNews(beside: mine).map { $0 < ledgerBegins } ?? true
        }
        do throws(JSONError) {
            difference.members = MemberDifference.between(
                try JSONValue.parse(mine.encoded()), try JSONValue.parse(theirs.encoded()))
            let (answer, other) = (evaluation(mine), evaluation(theirs))
            if answer != other {
                difference.evaluation = EvaluationView.differences(
                    try EvaluationView.value(answer), try EvaluationView.value(other))
            }
        } catch { throw .unreadableRecord("\(lineage.originalTransactionID): \(error)") }
        return difference
    }

    package func evaluation(_ record: LineageRecord) -> LineageEvaluation {
        let rules = rules[record.lineage.app] ?? AppRules()
        return record.evaluated(at: instant, map: rules.products, policy: rules.policy)
    }
}

extension LineageRecord {
    /// When the newest fact was signed that this record has and the other one has not in this version; nil if there is
    /// none.
    fileprivate func newestNews(beside other: LineageRecord) -> Timestamp? {
        var dates = transactions.filter { !other.transactions.contains($0) }.map(\.signedDate)
        if let renewal, renewal != other.renewal { dates.append(renewal.signedDate) }
        if let status, status != other.status { dates.append(status.signedDate) }
        if let owner, owner != other.owner { dates.append(owner.signedDate) }
        dates += claims.filter { !other.claims.contains($0) }.map(\.claimedAt)
        return dates.max()
    }
}
