import Time

/// What was decided about a lineage at one instant, and until when (or since when) it holds.
struct Verdict {
    var state: LineageState
    var reason: StateReason
    var rule: Rule
    var validUntil: Timestamp?
    var pendingVerification = false
}

/// The newest period of a lineage that has begun: it alone decides, revoked or not (`Rule.newestPeriod`).
///
/// An older one with a later end does not count: after an upgrade the superseded transaction may never be sent again.
/// That an older one was refunded does not count either (`Rule.olderRefund`).
struct CurrentPeriod {
    let transaction: TransactionFact
    let kind: PurchaseKind
    let end: Timestamp?
    /// When the last of the period's transactions was taken back; nil while one of them stands (`Rule.seats`).
    ///
    /// Seats added to a multi-seat subscription are a second transaction of the same product with the same end; the
    /// period lasts as long as one of them does. A transaction that was upgraded stands for nothing.
    let revocation: Revocation?
    /// Whether it has more than one transaction.
    let hasAddedSeats: Bool
    /// The last signed date of its transactions.
    let signedDate: Timestamp
    /// The seats of all its transactions that stand, without those taken back; nil where Apple gives no quantity.
    let seats: Int64?

    struct Revocation {
        var date: Timestamp
        var type: String?

        /// Whether it was shared or assigned, and nobody got money back.
        var isWithdrawal: Bool { type == "FAMILY_REVOKE" || type == "ASSIGNMENT_REVOKE" }
    }

    init?(of transactions: [TransactionFact], at instant: Timestamp, map: ProductMap) {
        self.init(of: transactions, begun: transactions.countBegun(by: instant), map: map)
    }

    /// The period that counts once the first `begun` of the transactions have begun.
    init?(of transactions: [TransactionFact], begun: Int, map: ProductMap) {
        guard let last = (0..<begun).last(where: transactions.stands) else { return nil }
        var newest = last
        for index in (0..<begun).reversed() {
            guard transactions[index].purchaseDate >= transactions[last].purchaseDate else { break }
            if transactions[newest].isOlderPeriod(than: transactions[index]), transactions.stands(at: index) {
                newest = index
            }
        }
        transaction = transactions[newest]
        kind = transaction.kind
        end = transaction.end(by: map)
        var members = Members()
        for index in 0..<begun {
            guard index == newest || transactions[index].isSamePeriod(as: transaction) && transactions.stands(at: index)
            else { continue }
            members.add(transactions[index])
        }
        revocation = members.areAllRevoked ? members.lastRevocation : nil
        hasAddedSeats = members.count > 1
        signedDate = members.signedDate ?? transaction.signedDate
        seats = members.seats
    }

    /// The sum of a period's transactions.
    private struct Members {
        var count = 0
        var areAllRevoked = true
        var lastRevocation: Revocation?
        var signedDate: Timestamp?
        var seats: Int64?

        mutating func add(_ member: borrowing TransactionFact) {
            count += 1
            signedDate = signedDate.map { max($0, member.signedDate) } ?? member.signedDate
            if let date = member.revocationDate {
                if lastRevocation.map({ $0.date < date }) ?? true {
                    lastRevocation = Revocation(date: date, type: member.revocationType)
                }
            } else {
                areAllRevoked = false
            }
            if let standing = member.standingSeats {
                let (total, overflows) = (seats ?? 0).addingReportingOverflow(standing)
                seats = overflows ? .max : total
            }
        }
    }

    /// What the transaction itself says, before anything else is asked: `Rule.upgraded`, and what was taken back.
    func verdict(at instant: Timestamp) -> Verdict? {
        if transaction.isUpgraded {
            // Whatever replaces it has begun, or Apple would not say so; it must be fetched.
            let upgraded = end.map { min($0, transaction.signedDate) } ?? transaction.signedDate
            return Verdict(
                state: .expired, reason: .upgraded, rule: .upgraded, validUntil: upgraded, pendingVerification: true)
        }
        guard let revocation, revocation.date <= instant else { return nil }
        return Verdict(
            state: .revoked, reason: revocation.isWithdrawal ? .withdrawn : .refunded, rule: rule(of: revocation),
            validUntil: end.map { min($0, revocation.date) } ?? revocation.date)
    }

    private func rule(of revocation: Revocation) -> Rule {
        if transaction.isShared || revocation.isWithdrawal { return .familyShare }
        if hasAddedSeats { return .seats }
        return revocation.type == "REFUND_PRORATED" ? .proratedRefund : .newestPeriod
    }

    /// A revocation announced for later ends access then, if the period does not end before.
    private func paidUntil(_ end: Timestamp?) -> Timestamp? {
        [end, revocation?.date].compactMap(\.self).min()
    }

    /// `Rule.oneTimePurchase`.
    func oneTimeVerdict(at instant: Timestamp) -> Verdict {
        func verdict(_ state: LineageState, _ reason: StateReason, _ validUntil: Timestamp?) -> Verdict {
            Verdict(state: state, reason: reason, rule: .oneTimePurchase, validUntil: validUntil)
        }
        guard let end else {
            return verdict(.active, kind == .lifetime ? .lifetime : .durationUnknown, paidUntil(nil))
        }
        guard instant < end else { return verdict(.expired, .durationOver, end) }
        return verdict(.active, .oneTimePurchase, paidUntil(end))
    }

    func renewableVerdict(at instant: Timestamp, news: AppleNews, policy: EvaluationPolicy) -> Verdict {
        guard let end else {
            // Apple always gives an end; without one the payer is served and Apple is asked.
            return Verdict(
                state: .active, reason: .paid, rule: .newestPeriod, validUntil: paidUntil(nil),
                pendingVerification: true)
        }
        guard instant >= end else {
            return Verdict(
                state: news.autoRenews ? .active : .canceled, reason: news.autoRenews ? .paid : .autoRenewOff,
                rule: .newestPeriod, validUntil: paidUntil(end))
        }
        let bound = end + policy.holdBound
        switch news.word(since: end) {
        case .grace(let until): return graceVerdict(at: instant, until: until)
        case .billingRetry:
            return Verdict(state: .billingRetry, reason: .inBillingRetry, rule: .billingRetry, validUntil: end)
        case .expired:
            // With renewal on, somebody waited for this word.
            return Verdict(
                state: .expired, reason: .expiredByApple, rule: news.autoRenews ? .hold : .renewalOff, validUntil: end)
        case nil where !news.autoRenews:
            return Verdict(state: .expired, reason: .notRenewed, rule: .renewalOff, validUntil: end)
        case .active: return holdVerdict(at: instant, until: bound, because: .renewalNotSeen)
        case nil: return holdVerdict(at: instant, until: bound, because: .awaitingApple)
        }
    }

    private func graceVerdict(at instant: Timestamp, until: Timestamp) -> Verdict {
        guard instant < until else {
            return Verdict(state: .billingRetry, reason: .gracePeriodOver, rule: .gracePeriod, validUntil: until)
        }
        return Verdict(
            state: .gracePeriod, reason: .inGracePeriod, rule: .gracePeriod, validUntil: paidUntil(until))
    }

    private func holdVerdict(
        at instant: Timestamp, until bound: Timestamp, because reason: StateReason
    ) -> Verdict {
        guard instant < bound else {
            return Verdict(
                state: .expired, reason: .noWordFromApple, rule: .hold, validUntil: bound, pendingVerification: true)
        }
        return Verdict(
            state: .hold, reason: reason, rule: .hold, validUntil: paidUntil(bound), pendingVerification: true)
    }
}

extension Array where Element == TransactionFact {
    /// How many have begun by `instant`; they stand first, since a record orders them by their beginning.
    func countBegun(by instant: Timestamp) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle].purchaseDate <= instant { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The record keeps a transaction under purchase date and id; should Apple ever sign two purchase dates for one id,
    /// the later signature counts.
    fileprivate func stands(at index: Int) -> Bool {
        !indices.contains { other in
            other != index && self[other].transactionID == self[index].transactionID
                && self[index].isSuperseded(by: self[other])
        }
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

    /// Whether it is a part of the same period, such as seats that were added.
    func isSamePeriod(as newest: TransactionFact) -> Bool {
        expiresDate != nil && expiresDate == newest.expiresDate && !isUpgraded && productID == newest.productID
    }

    /// Whether somebody else in the family paid.
    var isShared: Bool { ownership == "FAMILY_SHARED" }

    package var kind: PurchaseKind { PurchaseKind(type: type, expires: expiresDate != nil) }

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
