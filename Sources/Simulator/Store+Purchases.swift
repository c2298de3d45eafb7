package import Time

extension Store {
    /// Kept of one subscription; older ones are forgotten, so that a fast clock does not fill the memory.
    private static let maximumTransactions = 500

    /// Buys `productID`: a one-time product, a first subscription, one again after the last has ended, or, while one
    /// is active in the group, a change to it.
    package mutating func buy(
        _ productID: String, by token: String, offer offerID: String? = nil, quantity: Int64 = 1,
        seats: SeatPurchase? = nil, outsideApp: Bool = false, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        let account = try account(token)
        let product = try product(productID)
        let offer = try offer(offerID, of: product)
        guard (1...10).contains(quantity) else { throw StoreError(.notEligible, "quantity", "1 to 10") }
        let carried = outsideApp ? nil : account.token
        guard let group = product.group else {
            guard seats == nil else { throw StoreError(.notEligible, "seats", "\(productID) is no subscription") }
            return try buyOnce(product, by: account, carrying: carried, quantity: quantity, at: time)
        }

        // What was shared is a lineage of its own: who had it and buys begins a new one.
        guard let id = account.subscriptionIDs[group], var subscription = subscriptions[id],
            subscription.ownership == .purchased || subscription.isLive
        else {
            return [
                subscribe(
                    to: product, in: group, by: account, carrying: carried, seats: seats,
                    offer: offer ?? product.introductoryOffer, at: time)
            ]
        }
        guard seats == nil || !subscription.isLive else {
            throw StoreError(.alreadySubscribed, "seats", "\(token) is subscribed; change the seats instead")
        }
        guard subscription.ownership == .purchased else {
            throw StoreError(.notEligible, "account", "\(token) has this group by family sharing")
        }
        guard !subscription.isFailingToPay else {
            throw StoreError(.billingProblem, "account", "\(token) has a billing problem: mend the payment instead")
        }
        if subscription.isLive {
            if let offer, productID == subscription.productID {
                subscription.offer = .init(offer: offer, left: offer.mode == .payAsYouGo ? offer.count : 1)
                subscription.willRenew = true
                subscriptions[id] = subscription
                schedule(id)
                return newest(of: subscription).map { [notify("OFFER_REDEEMED", nil, $0, at: time)] } ?? []
            }
            if productID == subscription.productID, productID == subscription.nextProductID, !subscription.willRenew {
                return try setRenewal(true, of: id, at: time)
            }
            return try change(id, to: productID, at: time)
        }
        subscription.phase = .active
        subscription.willRenew = true
        subscription.startedAt = time
        subscription.nextProductID = productID
        subscription.priceIncrease = nil
        subscription.accountToken = carried
        subscription.seats = seats.map { newSeats($0) }
        subscription.offer = offer.map { .init(offer: $0, left: $0.mode == .payAsYouGo ? $0.count : 1) }
        subscriptions[id] = subscription
        if let group = subscription.seats?.groupID { groupSubscriptions[group] = id }
        let transaction = startPeriod(of: id, from: time, reason: .purchase)
        return transaction.map { [notify("SUBSCRIBED", "RESUBSCRIBE", $0, at: time)] } ?? []
    }

    private func offer(_ id: String?, of product: StoreProduct) throws(StoreError) -> StoreOffer? {
        guard let id else { return nil }
        guard let offer = product.offers.first(where: { $0.id == id }) else {
            throw StoreError(.unknownOffer, "offerId", "\(product.id) has no offer \(id)")
        }
        return offer
    }

    private mutating func buyOnce(
        _ product: StoreProduct, by account: Account, carrying accountToken: String?, quantity: Int64,
        at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        let owned = account.oneTimeIDs.compactMap { transactions[$0] }
        if product.kind == .nonConsumable,
            owned.contains(where: { $0.product.id == product.id && $0.revocation == nil })
        {
            throw StoreError(.alreadyOwned, "productId", "\(account.token) owns \(product.id)")
        }
        let id = identifiers.nextTransaction()
        let transaction = StoreTransaction(
            id: id, originalID: id, lineItemID: nil, account: account.token, accountToken: accountToken,
            appTransactionID: account.appTransactionID, product: product, purchaseDate: time,
            originalPurchaseDate: time, expiresDate: nil, quantity: quantity, ownership: .purchased, reason: .purchase,
            price: product.price &* quantity, offer: nil)
        transactions[id] = transaction
        accounts[account.token]?.oneTimeIDs.append(id)
        return [notify("ONE_TIME_CHARGE", nil, transaction, at: time)]
    }

    private mutating func subscribe(
        to product: StoreProduct, in group: String, by account: Account, carrying accountToken: String?,
        seats: SeatPurchase?, offer: StoreOffer?, at time: Timestamp
    ) -> StoreEvent {
        let id = identifiers.nextTransaction()
        var subscription = StoreSubscription(
            originalID: id, account: account.token, group: group, productID: product.id, nextProductID: product.id,
            startedAt: time)
        subscription.accountToken = accountToken
        subscription.seats = seats.map { newSeats($0) }
        if let group = subscription.seats?.groupID { groupSubscriptions[group] = id }
        subscription.offer = offer.map { .init(offer: $0, left: $0.mode == .payAsYouGo ? $0.count : 1) }
        subscriptions[id] = subscription
        accounts[account.token]?.subscriptionIDs[group] = id
        let transaction = addTransaction(
            id: id, to: id, product: product, from: time, reason: .purchase, originalPurchaseDate: time)
        return notify("SUBSCRIBED", "INITIAL_BUY", transaction, at: time)
    }

    /// Sells the next period: of the product it renews to, under the offer that still runs.
    mutating func startPeriod(
        of id: String, from start: Timestamp, reason: StoreTransaction.Reason
    ) -> StoreTransaction? {
        guard let subscription = subscriptions[id], let product = catalog.products[subscription.nextProductID] else {
            return nil
        }
        let first = subscription.transactionIDs.first.flatMap { transactions[$0] }
        return addTransaction(
            id: identifiers.nextTransaction(), to: id, product: product, from: start, reason: reason,
            originalPurchaseDate: first?.originalPurchaseDate ?? start)
    }

    private mutating func addTransaction(
        id transactionID: String, to id: String, product: StoreProduct, from start: Timestamp,
        reason: StoreTransaction.Reason, originalPurchaseDate: Timestamp
    ) -> StoreTransaction {
        let subscription = subscriptions[id]
        let offer = subscription?.offer?.offer
        var period = product.period?.duration ?? .seconds(86_400)
        if let offer { period = offer.period.duration * (offer.mode == .payAsYouGo ? 1 : offer.count) }
        var price = offer?.price ?? product.price
        if case .accepted(let raised) = subscription?.priceIncrease { price = raised }
        let owner = subscription?.account ?? ""
        let ownership = subscription?.ownership ?? .purchased
        var transaction = StoreTransaction(
            id: transactionID, originalID: id, lineItemID: identifiers.nextLineItem(), account: owner,
            accountToken: subscription?.accountToken,
            appTransactionID: accounts[owner]?.appTransactionID ?? "", product: product, purchaseDate: start,
            originalPurchaseDate: originalPurchaseDate, expiresDate: start + settings.compressed(period),
            quantity: subscription?.seats?.renewalQuantity ?? 1, ownership: ownership, reason: reason, price: price,
            offer: offer)
        if let seats = subscription?.seats {
            transaction.seats = SeatPurchase(quantity: seats.renewalQuantity, invitation: seats.invitation)
        }
        transactions[transactionID] = transaction
        subscriptions[id]?.productID = product.id
        subscriptions[id]?.transactionIDs.append(transactionID)
        if let run = subscription?.offer {
            subscriptions[id]?.offer = run.left > 1 ? .init(offer: run.offer, left: run.left - 1) : nil
        }
        forgetOldest(of: id)
        schedule(id)
        return transaction
    }

    /// The first stays: it carries the original transaction id.
    private mutating func forgetOldest(of id: String) {
        guard let ids = subscriptions[id]?.transactionIDs, ids.count > Self.maximumTransactions else { return }
        subscriptions[id]?.transactionIDs.remove(at: 1)
        transactions[ids[1]] = nil
    }
}
