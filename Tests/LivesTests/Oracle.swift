import Entitlements
import Time

@testable import Simulator

/// What is right, from the store's own books: it never sees a notification, a record or a rule of ours.
///
/// Each book is read as naively as can be: which period has begun, does the store still serve it, what was it bought with.
struct Oracle {
    struct Right: Equatable, CustomStringConvertible {
        var state: String
        var access: Bool
        var productID: String
        var nextProductID: String?
        var change: PendingChange?
        var isTrial: Bool
        var offerType: Int64?
        var priceIncrease: Bool?
        var ownership: String
        var graceUntil: Timestamp?

        /// What there is to be seen in lives. An upgrade is never ahead: it comes at once.
        static let allTraits: Set<String> = [
            "active", "canceled", "gracePeriod", "billingRetry", "expired", "revoked", "downgrade",
            "crossgrade", "trial", "offer", "price not agreed", "price agreed", "family",
        ]

        var traits: [String] {
            var traits = [state]
            if let change, change != .cancel { traits.append(change.rawValue) }
            if isTrial { traits.append("trial") }
            if offerType != nil { traits.append("offer") }
            if let priceIncrease { traits.append(priceIncrease ? "price agreed" : "price not agreed") }
            if ownership != "PURCHASED" { traits.append("family") }
            return traits
        }

        var description: String {
            "\(state) \(access) \(productID) next \(nextProductID ?? "-") \(change.map { "\($0)" } ?? "-") "
                + "offer \(offerType.map(String.init) ?? "-") trial \(isTrial) "
                + "price \(priceIncrease.map(String.init) ?? "-") \(ownership) grace \(graceUntil?.rfc3339 ?? "-")"
        }
    }

    let store: Store

    /// By original transaction id.
    func rights(at instant: Timestamp) -> [String: Right] {
        var rights: [String: Right] = [:]
        for truth in store.truth(at: instant) where truth.type != "Consumable" {
            rights[truth.originalTransactionID] = right(truth)
        }
        return rights
    }

    /// What an account may use, by what its own purchases give.
    func entitlements(of account: String, at instant: Timestamp) -> Set<String> {
        var all: Set<String> = []
        for truth in store.truth(of: account, at: instant) where truth.access && truth.ownership == .purchased {
            guard let product = LifeCatalog.catalog.products[truth.productID] else { continue }
            all.formUnion(LifeCatalog.entitlements(of: product))
        }
        return all
    }

    private func right(_ truth: StoreTruth) -> Right {
        let subscription = store.subscriptions[truth.originalTransactionID]
        let offer = store.transactions[truth.transactionID]?.offer
        var right = Right(
            state: truth.state.rawValue, access: truth.access, productID: truth.productID,
            isTrial: offer?.mode == .freeTrial,
            offerType: offer?.type.rawValue, ownership: truth.ownership.rawValue)
        guard let subscription, truth.state != .expired, truth.state != .revoked else { return right }
        right.nextProductID = truth.nextProductID
        right.change = truth.willRenew ? change(from: truth.productID, to: subscription.nextProductID) : .cancel
        if truth.willRenew {
            switch subscription.priceIncrease {
            case .pending: right.priceIncrease = false
            case .accepted: right.priceIncrease = true
            case nil: break
            }
        }
        if case .grace(let until, _) = subscription.phase { right.graceUntil = until }
        return right
    }

    private func change(from current: String, to next: String) -> PendingChange? {
        guard current != next, let from = LifeCatalog.catalog.products[current]?.level,
            let to = LifeCatalog.catalog.products[next]?.level
        else { return nil }
        return to < from ? .upgrade : to > from ? .downgrade : .crossgrade
    }
}

extension Oracle.Right {
    /// What an evaluation says, in the oracle's words.
    init(_ evaluation: LineageEvaluation) {
        self.init(
            state: evaluation.state.rawValue, access: evaluation.access, productID: evaluation.productID ?? "",
            nextProductID: evaluation.nextProductID, change: evaluation.pendingChange, isTrial: evaluation.isTrial,
            offerType: evaluation.offer?.type, priceIncrease: evaluation.priceIncrease?.isAgreed,
            ownership: evaluation.ownership ?? "", graceUntil: evaluation.gracePeriodExpiresAt)
    }
}
