import Time

/// What was decided about a lineage at one instant, and until when (or since when) it holds.
struct Verdict {
    var state: LineageState
    var reason: StateReason
    var validUntil: Timestamp?
    var pendingVerification = false
}

/// The newest period of a lineage that has begun: it alone decides, revoked or not.
///
/// An older one with a later end does not count: after an upgrade the superseded transaction may never be sent again.
struct CurrentPeriod {
    let transaction: TransactionFact
    let kind: PurchaseKind
    let end: Timestamp?
    /// When the last of the period's transactions was taken back; nil while one of them stands.
    ///
    /// Seats added to a multi-seat subscription are a second transaction of the same product with the same end; the
    /// period lasts as long as one of them does. A transaction that was upgraded stands for nothing.
    let revocation: Revocation?
    /// The last signed date of its transactions.
    let signedDate: Timestamp
    /// The seats of all its transactions that stand, without those taken back; nil where Apple gives no quantity.
    let seats: Int64?

    struct Revocation {
        var date: Timestamp
        var type: String?
    }

    init?(of transactions: [TransactionFact], at instant: Timestamp, map: ProductMap) {
        let begun = transactions.prefix { $0.purchaseDate <= instant }
        // The record keeps a transaction under purchase date and id; should Apple ever sign two purchase dates for one id,
        // the later signature counts.
        func stands(_ fact: TransactionFact) -> Bool {
            !transactions.contains { $0.transactionID == fact.transactionID && fact.isSuperseded(by: $0) }
        }
        guard let last = begun.last(where: stands) else { return nil }
        let newest =
            begun.suffix { $0.purchaseDate >= last.purchaseDate }.filter(stands)
            .max { $0.isOlderPeriod(than: $1) } ?? last
        let members = begun.filter { member in
            member.transactionID == newest.transactionID
                || (member.expiresDate != nil && member.expiresDate == newest.expiresDate
                    && member.productID == newest.productID && !member.isUpgraded)
        }.filter(stands)
        let revocations = members.compactMap { member in
            member.revocationDate.map { Revocation(date: $0, type: member.revocationType) }
        }
        transaction = newest
        kind = newest.kind
        end = newest.end(by: map)
        revocation = revocations.count == members.count ? revocations.max { $0.date < $1.date } : nil
        signedDate = members.map(\.signedDate).max() ?? newest.signedDate
        seats = members.compactMap(\.standingSeats).reduce(nil) { sum, seats in
            let (total, overflows) = (sum ?? 0).addingReportingOverflow(seats)
            return overflows ? .max : total
        }
    }

    /// What the transaction itself says, before anything else is asked.
    func verdict(at instant: Timestamp) -> Verdict? {
        if transaction.isUpgraded {
            // Whatever replaces it has begun, or Apple would not say so; it must be fetched.
            let upgraded = end.map { min($0, transaction.signedDate) } ?? transaction.signedDate
            return Verdict(state: .expired, reason: .upgraded, validUntil: upgraded, pendingVerification: true)
        }
        guard let revocation, revocation.date <= instant else { return nil }
        let shared = revocation.type == "FAMILY_REVOKE" || revocation.type == "ASSIGNMENT_REVOKE"
        return Verdict(
            state: .revoked, reason: shared ? .withdrawn : .refunded,
            validUntil: end.map { min($0, revocation.date) } ?? revocation.date)
    }

    /// A revocation announced for later ends access then, if the period does not end before.
    private func paidUntil(_ end: Timestamp?) -> Timestamp? {
        [end, revocation?.date].compactMap(\.self).min()
    }

    func oneTimeVerdict(at instant: Timestamp) -> Verdict {
        guard let end else {
            let reason: StateReason = kind == .lifetime ? .lifetime : .durationUnknown
            return Verdict(state: .active, reason: reason, validUntil: paidUntil(nil))
        }
        guard instant < end else { return Verdict(state: .expired, reason: .durationOver, validUntil: end) }
        return Verdict(state: .active, reason: .oneTimePurchase, validUntil: paidUntil(end))
    }

    func renewableVerdict(at instant: Timestamp, news: AppleNews, policy: EvaluationPolicy) -> Verdict {
        guard let end else {
            // Apple always gives an end; without one the payer is served and Apple is asked.
            return Verdict(state: .active, reason: .paid, validUntil: paidUntil(nil), pendingVerification: true)
        }
        guard instant >= end else {
            return Verdict(
                state: news.autoRenews ? .active : .canceled, reason: news.autoRenews ? .paid : .autoRenewOff,
                validUntil: paidUntil(end))
        }
        let bound = end + policy.holdBound
        switch news.word(since: end) {
        case .grace(let until) where instant < until:
            return Verdict(state: .gracePeriod, reason: .inGracePeriod, validUntil: paidUntil(until))
        case .grace(let until): return Verdict(state: .billingRetry, reason: .gracePeriodOver, validUntil: until)
        case .billingRetry: return Verdict(state: .billingRetry, reason: .inBillingRetry, validUntil: end)
        case .expired: return Verdict(state: .expired, reason: .expiredByApple, validUntil: end)
        case .active where instant < bound:
            return Verdict(
                state: .hold, reason: .renewalNotSeen, validUntil: paidUntil(bound), pendingVerification: true)
        case nil where !news.autoRenews: return Verdict(state: .expired, reason: .notRenewed, validUntil: end)
        case nil where instant < bound:
            return Verdict(
                state: .hold, reason: .awaitingApple, validUntil: paidUntil(bound), pendingVerification: true)
        case .active, nil:
            return Verdict(
                state: .expired, reason: .noWordFromApple, validUntil: bound, pendingVerification: true)
        }
    }
}

extension ArraySlice {
    /// The elements from the end on for which the condition holds.
    fileprivate func suffix(while condition: (Element) -> Bool) -> ArraySlice {
        self[(lastIndex { !condition($0) }.map { index(after: $0) } ?? startIndex)...]
    }
}

extension TransactionFact {
    /// What of `quantity` has not been taken back.
    fileprivate var standingSeats: Int64? {
        guard let quantity else { return nil }
        guard revocationDate == nil else { return 0 }
        let (rest, overflows) = quantity.subtractingReportingOverflow(max(0, revokedSeatQuantity ?? 0))
        return overflows ? 0 : max(0, rest)
    }

    var kind: PurchaseKind { PurchaseKind(type: type, expires: expiresDate != nil) }

    /// Apple's end; without one the duration that the map gives. A lifetime purchase has none whatever the map says.
    func end(by map: ProductMap) -> Timestamp? {
        switch kind {
        case .autoRenewable: expiresDate
        case .lifetime: nil
        case .nonRenewing, .consumable, .unknown:
            expiresDate ?? map[productID]?.duration.map { purchaseDate + $0 }
        }
    }

    /// Orders periods by their beginning. Of two that begin together, one that was upgraded is the older; then the end,
    /// the signature and the id decide, so that there is always one newest.
    func isOlderPeriod(than other: TransactionFact) -> Bool {
        if purchaseDate != other.purchaseDate { return purchaseDate < other.purchaseDate }
        if isUpgraded != other.isUpgraded { return isUpgraded }
        if expiresDate != other.expiresDate {
            guard let mine = expiresDate else { return false }
            guard let its = other.expiresDate else { return true }
            return mine < its
        }
        if signedDate != other.signedDate { return signedDate < other.signedDate }
        return transactionID.utf8.lexicographicallyPrecedes(other.transactionID.utf8)
    }
}
