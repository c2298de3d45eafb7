/// The rules that the reducer and the evaluation keep, one case for each: the situation, and what holds in it.
///
/// A verdict says which one decided it, `RulesAtWork` says which else bear on an answer or on a piece of news, and the
/// explanation shows both. The raw values are stable codes.
package enum Rule: String, Sendable, Hashable, CaseIterable {
    case olderRefund
    case refundReversed
    case proratedRefund
    case seats
    case upgraded
    case newestPeriod
    case productChange
    case gracePeriod
    case billingRetry
    case renewalOff
    case hold
    case familyShare
    case oneTimePurchase
    case olderTransaction
    case notice
    case consumptionRequest

    package var situation: String {
        switch self {
        case .olderRefund: "refund or revoke of an older period"
        case .refundReversed: "a refund is reversed"
        case .proratedRefund: "prorated refund"
        case .seats: "seats"
        case .upgraded: "a transaction is marked as upgraded"
        case .newestPeriod: "which period counts"
        case .productChange: "upgrade, downgrade, crossgrade"
        case .gracePeriod: "grace period"
        case .billingRetry: "billing retry without grace"
        case .renewalOff: "auto-renew off and period over"
        case .hold: "auto-renew on and period over, no news"
        case .familyShare: "family share"
        case .oneTimePurchase: "lifetime, non-renewing, consumable"
        case .olderTransaction: "news whose transaction is not the newest"
        case .notice: "news of types that change no state, and of unknown types"
        case .consumptionRequest: "consumption request"
        }
    }

    package var text: String {
        switch self {
        case .olderRefund: "It touches that transaction only; the current period stays."
        case .refundReversed:
            "The transaction arrives without revocation and signed later: granted again from the fact itself."
        case .proratedRefund:
            "Like a full one: that transaction's access ends at its revocation date; type and percentage are kept."
        case .seats:
            "Part of the seats taken back leaves access; added seats are a second transaction of the same period; "
                + "access ends when all of that period are taken back."
        case .upgraded: "That transaction grants nothing."
        case .newestPeriod:
            "The newest period that has begun decides, taken back or not; an older one with a later end does not, and "
                + "a renewal charged early does not count before it begins."
        case .productChange:
            "The current product comes from the transaction, the next one from the renewal settings; never early."
        case .gracePeriod: "Access until the grace period's end, only while Apple says so."
        case .billingRetry: "No access; it comes back with the recovered renewal."
        case .renewalOff: "Expired at that instant, no hold."
        case .hold: "Held, at most for the bound; Apple is asked at once, and its word settles it."
        case .familyShare: "An independent lineage, marked as shared; its withdrawal ends it."
        case .oneTimePurchase:
            "Goes the same way; a lifetime purchase never expires, others end by the product map, a refund ends any."
        case .olderTransaction: "That transaction is taken in; it is never taken for the newest."
        case .notice: "Kept in ledger and timeline; what it is called changes no state, only what is signed in it does."
        case .consumptionRequest: "Repeats come with new ids: one reply for each transaction."
        }
    }
}
