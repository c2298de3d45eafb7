import Entitlements
import Time

@testable import Simulator

/// What is right, from the store's own books: it never sees a notification, a record or a rule of ours.
///
/// Each book is read as naively as can be: which period has begun, does the store still serve it, what was it bought with.
/// For a later instant than the books are of, it says what a server must answer that hears nothing more.
struct Oracle {
    let store: Store
    /// The product map that counts, by its number.
    let edition: Int

    /// How long a payer is served without news.
    private static let patience: Duration = .seconds(24 * 3600)
    private static let oneDay: Duration = .seconds(24 * 3600)

    private func entry(_ product: StoreProduct) -> LifeCatalog.Entry? { LifeCatalog.editions[edition][product.id] }

    /// Every original transaction id in the books, a family's former shares included.
    var lineages: [String] {
        store.subscriptions.keys.sorted() + LifeCatalog.accounts.flatMap { store.accounts[$0]?.oneTimeIDs ?? [] }
    }

    /// Those of what an account has now.
    private func lineages(of account: String) -> [String] {
        guard let account = store.accounts[account] else { return [] }
        return account.subscriptionIDs.values.sorted() + account.oneTimeIDs
    }

    /// Now or later; nil before it began.
    func right(of id: String, at instant: Timestamp) -> Right? {
        guard let subscription = store.subscriptions[id] else { return oneTimeRight(of: id, at: instant) }
        let begun = subscription.transactionIDs.compactMap { store.transactions[$0] }
            .filter { $0.purchaseDate <= instant }
        guard let current = begun.last, let end = current.expiresDate else { return nil }
        var right = describe(current)
        // Seats are bought with the period and while it runs.
        let together = begun.filter {
            $0.expiresDate == end && $0.product.id == current.product.id && !$0.isUpgraded || $0.id == current.id
        }
        right.seats = together.reduce(0) {
            $0 + ($1.revocation == nil ? $1.quantity - ($1.seats?.revoked ?? 0) : 0)
        }
        judge(&right, current, end, subscription, at: instant)
        right.access = ["active", "canceled", "gracePeriod", "hold"].contains(right.state)
        if right.state != "expired", right.state != "revoked" { foresee(&right, current, end, subscription) }
        return right
    }

    private func judge(
        _ right: inout Right, _ current: StoreTransaction, _ end: Timestamp, _ subscription: StoreSubscription,
        at instant: Timestamp
    ) {
        right.until = end
        if let revocation = current.revocation {
            right.state = "revoked"
            right.until = min(end, revocation.date)
            return
        }
        switch subscription.phase {
        case .active where instant < end: right.state = subscription.willRenew ? "active" : "canceled"
        case .active where !subscription.willRenew: right.state = "expired"
        case .active:
            right.isDoubtful = true
            right.until = end + Self.patience
            right.state = instant < end + Self.patience ? "hold" : "expired"
        case .grace(let until, _):
            right.until = until
            right.state = instant < until ? "gracePeriod" : "billingRetry"
            if instant < until { right.graceUntil = until }
        case .retry: right.state = "billingRetry"
        case .expired: right.state = "expired"
        case .revoked: right.state = "revoked"
        }
    }

    /// What the end of the period will bring.
    private func foresee(
        _ right: inout Right, _ current: StoreTransaction, _ end: Timestamp, _ subscription: StoreSubscription
    ) {
        guard subscription.willRenew, let next = LifeCatalog.catalog.products[subscription.nextProductID] else {
            right.change = .cancel
            right.changeAt = end
            return
        }
        right.willRenew = true
        right.nextProductID = next.id
        right.nextOfferType = subscription.offer?.offer.type.rawValue
        if next.id != current.product.id {
            right.change = change(from: entry(current.product), to: entry(next))
            right.changeAt = end
        }
        switch subscription.priceIncrease {
        case .pending: right.isPriceAgreed = false
        case .accepted: right.isPriceAgreed = true
        case nil: break
        }
    }

    private func change(from: LifeCatalog.Entry?, to: LifeCatalog.Entry?) -> PendingChange {
        guard let from, let to, from.group == to.group, let old = from.level, let new = to.level else { return .change }
        return new < old ? .upgrade : new > old ? .downgrade : .crossgrade
    }

    private func oneTimeRight(of id: String, at instant: Timestamp) -> Right? {
        guard let purchase = store.transactions[id], purchase.purchaseDate <= instant else { return nil }
        var right = describe(purchase)
        right.seats = purchase.revocation == nil ? purchase.quantity : 0
        if purchase.product.kind == .nonRenewing {
            right.periodEnd = entry(purchase.product)?.days.map { purchase.purchaseDate + Self.oneDay * Int($0) }
        }
        right.until = right.periodEnd
        right.state = right.periodEnd.map { instant < $0 } ?? true ? "active" : "expired"
        if let revocation = purchase.revocation {
            right.state = "revoked"
            right.until = min(revocation.date, right.periodEnd ?? revocation.date)
        }
        right.access = right.state == "active"
        return right
    }

    private func describe(_ current: StoreTransaction) -> Right {
        Right(
            state: "", access: false, productID: current.product.id, ownership: current.ownership.rawValue,
            periodEnd: current.expiresDate, isTrial: current.offer?.mode == .freeTrial,
            offerType: current.offer?.type.rawValue, gives: entry(current.product)?.gives ?? [],
            isMapped: entry(current.product) != nil)
    }
}

extension Oracle {
    /// Whether there was access at an instant that is past; nil where the books no longer say.
    func hadAccess(_ id: String, at instant: Timestamp) -> Bool? {
        let bought = store.subscriptions[id]?.transactionIDs ?? [id]
        let begun = bought.compactMap { store.transactions[$0] }.filter { $0.purchaseDate <= instant }
        // What came of a period after its end is not in the books; and an upgraded one grants nothing if Apple ever says so
        // of it, which it need not.
        guard let current = begun.last, let end = current.expiresDate, instant < end, current.seats == nil,
            !current.isUpgraded
        else { return nil }
        return current.revocation.map { instant < $0.date } ?? true
    }

    /// One entitlement of an account, or one that it had.
    struct Grant: Equatable {
        var isActive = false
        var until: Timestamp?
        var willRenew = false
        var by: Set<String> = []
    }

    /// What an account has or had of all that bears its name: a family member's share bears none.
    func grants(of account: String, at instant: Timestamp) -> [String: Grant] {
        var grants: [String: Grant] = [:]
        var ends: [String: [Timestamp?]] = [:]
        for id in lineages(of: account) {
            guard let right = right(of: id, at: instant), right.ownership == "PURCHASED" else { continue }
            for past in store.subscriptions[id]?.transactionIDs ?? [] {
                guard let past = store.transactions[past], past.purchaseDate <= instant else { continue }
                for name in entry(past.product)?.gives ?? [] where grants[name] == nil { grants[name] = Grant() }
            }
            for name in right.gives {
                var grant = grants[name] ?? Grant()
                if right.access {
                    grant.isActive = true
                    grant.willRenew = grant.willRenew || right.willRenew
                    grant.by.insert(id)
                    ends[name, default: []].append(right.until)
                }
                grants[name] = grant
            }
        }
        for (name, ends) in ends {
            let last = ends.contains(nil) ? nil : ends.compactMap(\.self).max()
            grants[name]?.until = last
        }
        return grants
    }

    /// Of what an account has, the products that the map does not know.
    func unmapped(of account: String, at instant: Timestamp) -> Set<String> {
        Set(
            lineages(of: account).compactMap { right(of: $0, at: instant) }
                .filter { $0.ownership == "PURCHASED" && !$0.isMapped }.map(\.productID))
    }

    /// Instants after the books' own at which an answer without further news may change.
    func moments(of id: String) -> [Timestamp] {
        guard let subscription = store.subscriptions[id] else {
            return
                (store.transactions[id].map { purchase in
                    LifeCatalog.editions.compactMap { $0[purchase.product.id]?.days }.map {
                        purchase.purchaseDate + Self.oneDay * Int($0)
                    }
                }) ?? []
        }
        var moments: [Timestamp] = []
        for transaction in subscription.transactionIDs.suffix(2).compactMap({ store.transactions[$0] }) {
            moments.append(transaction.purchaseDate)
            if let end = transaction.expiresDate { moments += [end, end + Self.patience] }
        }
        if case .grace(let until, _) = subscription.phase { moments.append(until) }
        return moments
    }
}
