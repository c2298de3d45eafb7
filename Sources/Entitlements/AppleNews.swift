import Time

/// What Apple said, up to an instant, about how the current period goes on.
///
/// Word from before the period counts for nothing: a status or renewal that Apple signed while an earlier period ran
/// must not override the transaction that followed it (say, "expired" before a resubscription).
struct AppleNews {
    let renewal: RenewalFact?
    let status: StatusFact?

    init(of record: LineageRecord, about period: CurrentPeriod, at instant: Timestamp) {
        // A renewal that is charged early is signed before its period begins, and settings signed since are about it.
        let known = min(period.transaction.purchaseDate, period.transaction.signedDate)
        let heard = known...max(known, instant)
        renewal = record.renewal.flatMap { heard.contains($0.signedDate) ? $0 : nil }
        status = record.status.flatMap { heard.contains($0.signedDate) ? $0 : nil }
    }

    /// On unless Apple said otherwise, as it is from the first purchase on.
    var autoRenews: Bool { renewal?.autoRenewStatus != 0 }

    /// Status 5, unless the transaction was signed since: then the transaction itself says whether it is revoked.
    func revocation(of period: CurrentPeriod) -> Verdict? {
        guard let status, status.status == AppleStatus.revoked, status.signedDate >= period.signedDate else {
            return nil
        }
        let ended = period.end.map { min($0, status.signedDate) } ?? status.signedDate
        return Verdict(
            state: .revoked, reason: .revokedByApple, rule: period.transaction.isShared ? .familyShare : .newestPeriod,
            validUntil: ended)
    }

    enum Word {
        case grace(until: Timestamp)
        case billingRetry
        case expired
        case active
    }

    /// Apple's latest word on what became of a period after its end; nil when there is none.
    ///
    /// Only what was signed at the end or later can be about it; a grace period names the end itself, by lying after it.
    func word(since end: Timestamp) -> Word? {
        let byRenewal = renewal.flatMap { word(in: $0, since: end) }
        let byStatus = status.flatMap { word(in: $0, since: end) }
        guard let byStatus, let status else { return byRenewal }
        guard let byRenewal, let renewal else { return byStatus }
        return renewal.signedDate > status.signedDate ? byRenewal : byStatus
    }

    private func word(in renewal: RenewalFact, since end: Timestamp) -> Word? {
        if let grace = renewal.gracePeriodExpiresDate, grace > end { return .grace(until: grace) }
        guard renewal.signedDate >= end else { return nil }
        if renewal.isInBillingRetryPeriod == true { return .billingRetry }
        return renewal.expirationIntent == nil ? nil : .expired
    }

    private func word(in status: StatusFact, since end: Timestamp) -> Word? {
        guard status.signedDate >= end else { return nil }
        switch status.status {
        case AppleStatus.active: return .active
        case AppleStatus.expired: return .expired
        case AppleStatus.billingRetry: return .billingRetry
        case AppleStatus.gracePeriod:
            // The date is in the renewal fact; without it there is nothing to grant by.
            guard let grace = renewal?.gracePeriodExpiresDate, grace > end else { return nil }
            return .grace(until: grace)
        default: return nil
        }
    }
}
