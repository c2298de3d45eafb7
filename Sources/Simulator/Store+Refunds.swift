package import Time

/// Money back, and access taken back.
extension Store {
    /// The transaction whose id `reference` is; or the account's newest purchase that has begun, of the product that
    /// `reference` names or of any. A renewal that was charged early is refunded with the period that runs, not for it.
    package func refundable(of token: String, _ reference: String? = nil, at time: Timestamp) throws(StoreError)
        -> String
    {
        let all = transactions(of: try account(token).token)
        if let reference {
            let named = all.last { $0.id == reference || $0.product.id == reference && $0.purchaseDate <= time }
            guard let found = named else {
                throw StoreError(.unknownTransaction, "transactionId", "\(token) has no transaction \(reference)")
            }
            return found.id
        }
        guard let newest = all.last(where: { $0.purchaseDate <= time }) else {
            throw StoreError(.unknownTransaction, "transactionId", "\(token) has bought nothing")
        }
        return newest.id
    }

    /// Refunds one transaction in full. Of a subscription's newest period that has begun, it ends the subscription,
    /// and a next period that was charged early is refunded with it.
    package mutating func refund(
        _ transactionID: String, reason: Int64 = 0, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        let transaction = try purchased(transactionID)
        guard transaction.revocation == nil else {
            throw StoreError(.notEligible, "transactionId", "\(transactionID) is refunded already")
        }
        var refunded = [transactionID]
        if let subscription = subscriptions[transaction.originalID] {
            let later = subscription.transactionIDs.drop { $0 != transactionID }.dropFirst()
            let hasLaterBegun = later.contains { transactions[$0].map { $0.purchaseDate <= time } ?? false }
            if !hasLaterBegun {
                refunded += later.filter { transactions[$0]?.revocation == nil }
                subscriptions[subscription.originalID]?.phase = .revoked
                subscriptions[subscription.originalID]?.willRenew = false
            }
        }
        var events: [StoreEvent] = []
        for id in refunded {
            transactions[id]?.revocation = .init(date: time, kind: .refund, reason: reason)
            if let refunded = transactions[id] { events.append(notify("REFUND", nil, refunded, at: time)) }
        }
        if let subscription = subscriptions[transaction.originalID], subscription.phase == .revoked {
            for member in subscription.members where subscriptions[member]?.isLive == true {
                events += try revoke(member, at: time)
            }
        }
        return events
    }

    /// Takes a refund back: the transaction is as if it had never been refunded. Auto-renewal stays off.
    package mutating func reverseRefund(
        _ transactionID: String, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        var transaction = try purchased(transactionID)
        guard transaction.revocation?.kind == .refund else {
            throw StoreError(.notEligible, "transactionId", "\(transactionID) is not refunded")
        }
        transaction.revocation = nil
        transactions[transactionID] = transaction
        let id = transaction.originalID
        if let subscription = subscriptions[id], subscription.phase == .revoked,
            let current = newest(of: subscription), current.revocation == nil || current.purchaseDate > time
        {
            let isOver = transaction.expiresDate.map { $0 <= time } ?? false
            subscriptions[id]?.phase = isOver ? .expired(.cancelled) : .active
            schedule(id)
        }
        return [notify("REFUND_REVERSED", nil, transaction, at: time)]
    }

    /// The customer asks for money back and Apple asks how much was used.
    package mutating func requestRefund(
        _ transactionID: String, reason: String = "UNINTENDED_PURCHASE", at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        let transaction = try purchased(transactionID)
        return [notify("CONSUMPTION_REQUEST", nil, transaction, at: time, consumptionRequestReason: reason)]
    }

    /// Apple refuses the refund.
    package mutating func declineRefund(
        _ transactionID: String, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        [notify("REFUND_DECLINED", nil, try purchased(transactionID), at: time)]
    }

    /// Ends a family member's share.
    package mutating func revoke(_ id: String, at time: Timestamp) throws(StoreError) -> [StoreEvent] {
        guard let subscription = subscriptions[id], let owner = subscription.sharedFrom, subscription.isLive,
            let transaction = newest(of: subscription)
        else { throw StoreError(.notEligible, "subscription", "only what a family shares is revoked") }
        subscriptions[id]?.phase = .revoked
        subscriptions[id]?.willRenew = false
        subscriptions[owner]?.members.removeAll { $0 == id }
        var events: [StoreEvent] = []
        for id in subscription.transactionIDs {
            // A period charged early goes with the one that runs.
            guard let expires = transactions[id]?.expiresDate, expires > time else { continue }
            transactions[id]?.revocation = .init(date: time, kind: .family, reason: 0)
            if let revoked = transactions[id] { events.append(notify("REVOKE", nil, revoked, at: time)) }
        }
        if events.isEmpty {
            transactions[transaction.id]?.revocation = .init(date: time, kind: .family, reason: 0)
            if let revoked = transactions[transaction.id] { events.append(notify("REVOKE", nil, revoked, at: time)) }
        }
        return events
    }

    private func purchased(_ transactionID: String) throws(StoreError) -> StoreTransaction {
        guard let transaction = transactions[transactionID] else {
            throw StoreError(.unknownTransaction, "transactionId", "there is no transaction \(transactionID)")
        }
        guard transaction.ownership == .purchased else {
            throw StoreError(.notEligible, "transactionId", "a family member paid nothing")
        }
        return transaction
    }
}
