import Time

/// What a history says beside the state: a stable code, and what it means.
package enum HistoryDetail: String, Sendable, Hashable, CaseIterable {
    case renewed
    case product
    case end
    case renewalOff
    case renewalOn
    case nextProduct
    case price
    case gracePeriod
    case seats
    case offer
    case olderRefund
    case olderTransaction
    case laterPeriod
    case renewedAhead
    /// Of a transfer: an operator insisted, past the policy and its limits.
    case forced

    package var sentence: String {
        switch self {
        case .renewed: "a new period began"
        case .product: "another product"
        case .end: "the end of the period was moved"
        case .renewalOff: "renewal is off"
        case .renewalOn: "renewal is on"
        case .nextProduct: "another product from the next renewal on"
        case .price: "another price from the next renewal on"
        case .gracePeriod: "another end of the grace period"
        case .seats: "another number of seats"
        case .offer: "another offer"
        case .olderRefund: "an older period was refunded; the current one stays"
        case .olderTransaction: "about an older period"
        case .laterPeriod: "about a period that begins later"
        case .renewedAhead: "ahead of time, the period begins later"
        case .forced: "an operator's claim"
        }
    }
}

extension HistoryDetail {
    /// The first thing that differs, in the order in which support would ask.
    init?(from before: Standing, to after: Standing) {
        let (old, new) = (before.evaluation, after.evaluation)
        if old.productID != nil, new.productID != old.productID {
            self = .product
        } else if before.transactionID != nil, before.transactionID != after.transactionID, !after.continues(before) {
            self = .renewed
        } else if before.transactionID != nil, new.expiresAt != old.expiresAt {
            self = .end
        } else if old.tellsOfRenewal, new.tellsOfRenewal, old.willRenew != new.willRenew {
            self = new.willRenew ? .renewalOn : .renewalOff
        } else if old.willRenew, new.willRenew, old.nextProductID != new.nextProductID {
            self = .nextProduct
        } else if old.priceIncrease != new.priceIncrease, new.priceIncrease != nil {
            self = .price
        } else if let grace = old.gracePeriodExpiresAt, let other = new.gracePeriodExpiresAt, grace != other {
            self = .gracePeriod
        } else if old.seats != new.seats, old.seats != nil, before.standsWhole, after.standsWhole,
            before.countsSeats || after.countsSeats
        {
            self = .seats
        } else if new.willRenew, old.nextOffer != new.nextOffer {
            self = .offer
        } else {
            return nil
        }
    }
}

extension LineageEvaluation {
    /// Of what is over, nobody says whether it will renew.
    fileprivate var tellsOfRenewal: Bool { productID != nil && state != .expired && state != .revoked }
}

/// What a history compares: the evaluation, and the transaction that counts.
struct Standing {
    let evaluation: LineageEvaluation
    let period: CurrentPeriod?

    init(of record: LineageRecord, at instant: Timestamp, map: ProductMap, policy: EvaluationPolicy) {
        evaluation = record.evaluated(at: instant, map: map, policy: policy)
        period = CurrentPeriod(of: record.transactions, at: instant, map: map)
    }

    var transaction: TransactionFact? { period?.transaction }

    var transactionID: String? { transaction?.transactionID }

    /// Whether seats were bought, and not one thing: of that Apple gives a quantity too.
    var countsSeats: Bool {
        guard let period else { return false }
        return period.hasAddedSeats || period.transaction.quantity ?? 0 > 1
            || period.transaction.revokedSeatQuantity ?? 0 > 0
    }

    /// Whether it was not taken back as a whole, which leaves no seats, nor is going to be.
    var standsWhole: Bool { period?.revocation == nil && evaluation.state != .revoked }

    /// Whether another transaction counts than `before`, of the same period: seats were added or taken back.
    func continues(_ before: Standing) -> Bool {
        guard let transaction, let other = before.transaction else { return false }
        return other.isSamePeriod(as: transaction)
    }

    /// nil while nothing has begun.
    var state: LineageState? { evaluation.productID == nil ? nil : evaluation.state }
}
