package import Time

/// What happens by itself: renewal, failure to pay, expiry; and the customer's and the bank's say in it.
extension Store {
    /// When something next happens to `subscription` by itself. A family member's follows its owner's.
    func dueDate(of subscription: StoreSubscription) -> Timestamp? {
        guard subscription.sharedFrom == nil else { return nil }
        switch subscription.phase {
        case .active:
            let paid = subscription.transactionIDs.last { transactions[$0].map { $0.revocation == nil } ?? false }
            guard let last = paid.flatMap({ transactions[$0] }), let expires = last.expiresDate else { return nil }
            guard renews(subscription) else { return expires }
            // Charged before the end, as Apple does, so that a payer never falls into a gap.
            let period = expires - last.purchaseDate
            return expires - min(settings.compressed(settings.renewalLead), period / 4)
        case .grace(let until, _): return until
        case .retry(let until): return until
        case .expired, .revoked: return nil
        }
    }

    private func renews(_ subscription: StoreSubscription) -> Bool {
        if case .pending = subscription.priceIncrease { return false }
        return subscription.willRenew && accounts[subscription.account]?.paymentFails != true
    }

    mutating func fallDue(_ subscription: StoreSubscription, at time: Timestamp) -> [StoreEvent] {
        let id = subscription.originalID
        switch subscription.phase {
        case .active:
            if renews(subscription) { return renew(id, at: time) }
            guard subscription.willRenew else { return expire(id, .cancelled, "VOLUNTARY", at: time) }
            if case .pending = subscription.priceIncrease {
                return expire(id, .priceIncrease, "PRICE_INCREASE", at: time)
            }
            return failToRenew(id, at: time)
        case .grace(_, let retryUntil):
            guard subscription.willRenew else { return expire(id, .cancelled, "VOLUNTARY", at: time) }
            return setPhase(.retry(until: retryUntil), of: id, "GRACE_PERIOD_EXPIRED", nil, at: time)
        case .retry: return expire(id, .billing, "BILLING_RETRY", at: time)
        case .expired, .revoked: return []
        }
    }

    private mutating func renew(_ id: String, recovered: Bool = false, at time: Timestamp) -> [StoreEvent] {
        var events: [StoreEvent] = []
        for id in family(of: id) {
            guard let subscription = subscriptions[id], let end = newest(of: subscription)?.expiresDate else {
                continue
            }
            if let owner = subscription.sharedFrom,
                catalog.products[subscription.nextProductID]?.isFamilyShareable != true
            {
                events += detach(id, from: owner, at: time)
                continue
            }
            // Out of grace the billing date stays; out of billing retry the new period begins when it is paid.
            var start = end
            if case .retry = subscription.phase { start = time }
            if subscription.isFailingToPay, let product = catalog.products[subscription.nextProductID],
                let period = product.period, end + settings.compressed(period.duration) <= time
            {
                start = time
            }
            subscriptions[id]?.phase = .active
            if let transaction = startPeriod(of: id, from: start, reason: .renewal) {
                // A price that waited for consent is no longer in the way of the next renewal.
                subscriptions[id]?.priceIncrease = nil
                schedule(id)
                events.append(notify("DID_RENEW", recovered ? "BILLING_RECOVERY" : nil, transaction, at: time))
            }
        }
        return events
    }

    /// The owner went on to what is not shared: the family member's period runs out by itself.
    private mutating func detach(_ id: String, from owner: String, at time: Timestamp) -> [StoreEvent] {
        subscriptions[owner]?.members.removeAll { $0 == id }
        subscriptions[id]?.sharedFrom = nil
        subscriptions[id]?.willRenew = false
        schedule(id)
        return subscriptions[id].flatMap { newest(of: $0) }.map {
            [notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", $0, at: time)]
        } ?? []
    }

    private mutating func failToRenew(_ id: String, at time: Timestamp) -> [StoreEvent] {
        guard let subscription = subscriptions[id], let account = accounts[subscription.account] else { return [] }
        let retryUntil = time + settings.compressed(settings.billingRetry)
        guard account.hasGracePeriod ?? catalog.hasGracePeriod else {
            return setPhase(.retry(until: retryUntil), of: id, "DID_FAIL_TO_RENEW", nil, at: time)
        }
        // Apple gives weekly subscriptions six days at most.
        let period = catalog.products[subscription.productID]?.period?.duration ?? .zero
        let grace =
            period <= .seconds(7 * 86_400) ? min(settings.gracePeriod, .seconds(6 * 86_400)) : settings.gracePeriod
        let until = time + settings.compressed(grace)
        return setPhase(
            .grace(until: until, retryUntil: max(until, retryUntil)), of: id, "DID_FAIL_TO_RENEW", "GRACE_PERIOD",
            at: time)
    }

    mutating func expire(
        _ id: String, _ intent: StoreSubscription.Intent, _ subtype: String, at time: Timestamp
    ) -> [StoreEvent] {
        if intent != .billing { subscriptions[id]?.willRenew = false }
        return setPhase(.expired(intent), of: id, "EXPIRED", subtype, at: time)
    }

    /// Puts a subscription and its family's into `phase` and tells each of it.
    private mutating func setPhase(
        _ phase: StoreSubscription.Phase, of id: String, _ type: String, _ subtype: String?, at time: Timestamp
    ) -> [StoreEvent] {
        var events: [StoreEvent] = []
        let willRenew = subscriptions[id]?.willRenew ?? false
        for id in family(of: id) {
            subscriptions[id]?.phase = phase
            subscriptions[id]?.willRenew = willRenew
            schedule(id)
            if let subscription = subscriptions[id], let transaction = newest(of: subscription) {
                events.append(notify(type, subtype, transaction, at: time))
            }
        }
        return events
    }

    /// The customer turns auto-renewal on or off.
    package mutating func setRenewal(
        _ willRenew: Bool, of id: String, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        let subscription = try live(id)
        guard subscription.willRenew != willRenew else {
            throw StoreError(.notEligible, "subscription", "auto-renewal is \(willRenew ? "on" : "off") already")
        }
        var events: [StoreEvent] = []
        for id in family(of: id) {
            subscriptions[id]?.willRenew = willRenew
            schedule(id)
            guard let transaction = subscriptions[id].flatMap({ newest(of: $0) }) else { continue }
            let subtype = willRenew ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED"
            events.append(notify("DID_CHANGE_RENEWAL_STATUS", subtype, transaction, at: time))
        }
        // Nobody is charged any more for what was cancelled while it could not be paid.
        if case .retry = subscription.phase, !willRenew { events += expire(id, .cancelled, "VOLUNTARY", at: time) }
        return events
    }

    /// Breaks or mends the account's means of payment; mended, what failed is charged at once. `grace` decides
    /// whether this account's failures have a grace period; nil leaves it as it is.
    package mutating func setPayment(
        of token: String, fails: Bool, grace: Bool? = nil, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        var account = try account(token)
        account.paymentFails = fails
        account.hasGracePeriod = grace ?? account.hasGracePeriod
        accounts[account.token] = account
        var events = [StoreEvent(time: time, account: account.token, name: fails ? "payment fails" : "payment mended")]
        for id in account.subscriptionIDs.values.sorted() {
            guard !fails, let subscription = subscriptions[id], subscription.isFailingToPay, subscription.willRenew,
                subscription.sharedFrom == nil
            else {
                schedule(id)
                continue
            }
            events += renew(id, recovered: true, at: time)
        }
        return events
    }

    /// The subscription and those that follow it by family sharing, as long as they live.
    func family(of id: String) -> [String] {
        ([id] + (subscriptions[id]?.members ?? [])).filter { subscriptions[$0]?.isLive == true }
    }

    func live(_ id: String) throws(StoreError) -> StoreSubscription {
        guard let subscription = subscriptions[id], subscription.isLive else {
            throw StoreError(.notSubscribed, "subscription", "the subscription is over: buy again")
        }
        guard subscription.ownership == .purchased else {
            throw StoreError(.notEligible, "subscription", "a family member's subscription follows its owner's")
        }
        return subscription
    }
}
