package import Time

/// Changes of plan, price and length.
extension Store {
    /// Changes the plan as Apple does: to a higher level, or across to one of the same length, at once; to a lower
    /// level, or across to another length, with the next renewal; back to the present one, the change is called off.
    package mutating func change(
        _ id: String, to productID: String, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        let subscription = try live(id)
        let next = try product(productID)
        let present = try product(subscription.productID)
        guard next.group == subscription.group, let level = next.level, let presentLevel = present.level else {
            throw StoreError(.notEligible, "productId", "\(productID) is not in the subscription's group")
        }
        guard !subscription.isFailingToPay else {
            throw StoreError(.billingProblem, "account", "mend the payment first")
        }
        guard productID != subscription.nextProductID else {
            throw StoreError(.alreadySubscribed, "productId", "it is \(productID) already")
        }
        let isUpgrade = level < presentLevel || level == presentLevel && next.period == present.period
        var events: [StoreEvent] = []
        for id in family(of: id) {
            if id != subscription.originalID, isUpgrade, !next.isFamilyShareable {
                events += try revoke(id, at: time)
                continue
            }
            subscriptions[id]?.nextProductID = productID
            subscriptions[id]?.willRenew = true
            subscriptions[id]?.priceIncrease = nil
            subscriptions[id]?.offer = nil
            schedule(id)
            let isCalledOff = productID == subscription.productID
            var subtype = isCalledOff ? nil : "DOWNGRADE"
            var transaction = subscriptions[id].flatMap { newest(of: $0) }
            if isUpgrade, !isCalledOff {
                subtype = "UPGRADE"
                supersede(id, at: time)
                transaction = startPeriod(of: id, from: time, reason: .purchase)
            }
            if let transaction { events.append(notify("DID_CHANGE_RENEWAL_PREF", subtype, transaction, at: time)) }
        }
        return events
    }

    /// What is left of the present period, and a next one that was charged early, is given back.
    private mutating func supersede(_ id: String, at time: Timestamp) {
        for id in subscriptions[id]?.transactionIDs ?? [] {
            guard let expires = transactions[id]?.expiresDate, expires > time else { continue }
            transactions[id]?.isUpgraded = true
        }
    }

    /// Raises the price from the next renewal on; unless the customer consents before it, the subscription ends there.
    package mutating func raisePrice(
        of id: String, to price: Int64, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        let subscription = try live(id)
        guard price > 0 else { throw StoreError(.notEligible, "price", "milliunits above 0") }
        subscriptions[id]?.priceIncrease = .pending(price)
        schedule(id)
        return newest(of: subscription).map { [notify("PRICE_INCREASE", "PENDING", $0, at: time)] } ?? []
    }

    /// The customer agrees to the raised price.
    package mutating func consentToPrice(of id: String, at time: Timestamp) throws(StoreError) -> [StoreEvent] {
        let subscription = try live(id)
        guard case .pending(let price) = subscription.priceIncrease else {
            throw StoreError(.notEligible, "subscription", "no price increase waits for consent")
        }
        subscriptions[id]?.priceIncrease = .accepted(price)
        schedule(id)
        return newest(of: subscription).map { [notify("PRICE_INCREASE", "ACCEPTED", $0, at: time)] } ?? []
    }

    /// Shares a subscription with a family member, who gets one of its own that follows the owner's.
    package mutating func share(
        _ id: String, with token: String, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        let subscription = try live(id)
        let member = try account(token)
        guard try product(subscription.productID).isFamilyShareable else {
            throw StoreError(.notEligible, "subscription", "\(subscription.productID) is not family shareable")
        }
        guard subscription.phase == .active, let shared = newest(of: subscription) else {
            throw StoreError(.notEligible, "subscription", "only an active subscription is shared")
        }
        guard member.subscriptionIDs[subscription.group] == nil else {
            throw StoreError(.alreadySubscribed, "with", "\(token) has a subscription in this group")
        }
        let memberID = identifiers.nextTransaction()
        var own = StoreSubscription(
            originalID: memberID, account: member.token, group: subscription.group, productID: subscription.productID,
            nextProductID: subscription.nextProductID, startedAt: time)
        own.willRenew = subscription.willRenew
        own.ownership = .familyShared
        own.sharedFrom = id
        own.transactionIDs = [memberID]
        let transaction = StoreTransaction(
            id: memberID, originalID: memberID, lineItemID: identifiers.nextLineItem(), account: member.token,
            accountToken: nil, appTransactionID: member.appTransactionID, product: shared.product, purchaseDate: time,
            originalPurchaseDate: time, expiresDate: shared.expiresDate, quantity: 1, ownership: .familyShared,
            reason: .purchase, price: 0, offer: nil)
        transactions[memberID] = transaction
        subscriptions[memberID] = own
        subscriptions[id]?.members.append(memberID)
        accounts[member.token]?.subscriptionIDs[subscription.group] = memberID
        return [notify("SUBSCRIBED", "INITIAL_BUY", transaction, at: time)]
    }
}
