internal import JSON
package import Time

/// What an account may really use at a moment: what every answer about it is to be measured by.
package struct StoreTruth: Sendable, Hashable {
    package enum State: String, Sendable {
        case active, canceled, gracePeriod, billingRetry, expired, revoked
    }

    package let account: String
    package let originalTransactionID: String
    package let transactionID: String
    package let productID: String
    package let nextProductID: String?
    package let type: String
    package let state: State
    package let access: Bool
    /// The end of the period, or of the grace; nil for what does not end.
    package let accessUntil: Timestamp?
    /// The end of the period that runs, or ran last; `accessUntil` is later in a grace, and once the next one is charged.
    package let expiresAt: Timestamp?
    package let willRenew: Bool
    package let ownership: StoreTransaction.Ownership
}

extension Store {
    /// The truth of one account, or of all, at `time`. One-time products never expire; consumables are used up.
    package func truth(of token: String? = nil, at time: Timestamp) -> [StoreTruth] {
        (token.map { [$0.lowercased()] } ?? accountTokens).flatMap { token in
            guard let account = accounts[token] else { return [StoreTruth]() }
            let subscriptions = account.subscriptionIDs.sorted { $0.key < $1.key }.compactMap {
                self.subscriptions[$0.value].flatMap { truth(of: $0, at: time) }
            }
            return subscriptions + account.oneTimeIDs.compactMap { transactions[$0] }.map(truth)
        }
    }

    private func truth(of subscription: StoreSubscription, at time: Timestamp) -> StoreTruth? {
        // The newest period that has begun decides; one charged early does not count yet.
        let begun = subscription.transactionIDs.last { transactions[$0].map { $0.purchaseDate <= time } ?? false }
        guard let transaction = begun.flatMap({ transactions[$0] }) ?? newest(of: subscription) else { return nil }
        var until = newest(of: subscription)?.expiresDate ?? transaction.expiresDate
        if case .grace(let end, _) = subscription.phase { until = end }
        let state: StoreTruth.State
        if transaction.revocation != nil {
            state = .revoked
            until = transaction.revocation?.date
        } else {
            state =
                switch subscription.phase {
                case .active: subscription.willRenew ? .active : .canceled
                case .grace: .gracePeriod
                case .retry: .billingRetry
                case .expired: .expired
                case .revoked: .revoked
                }
        }
        let grants = state == .active || state == .canceled || state == .gracePeriod
        return StoreTruth(
            account: subscription.account, originalTransactionID: subscription.originalID,
            transactionID: transaction.id, productID: transaction.product.id,
            nextProductID: subscription.willRenew ? subscription.nextProductID : nil,
            type: transaction.product.appleType, state: state,
            access: grants && transaction.purchaseDate <= time && (until.map { time < $0 } ?? true),
            accessUntil: until, expiresAt: transaction.expiresDate, willRenew: subscription.willRenew,
            ownership: subscription.ownership)
    }

    private func truth(of transaction: StoreTransaction) -> StoreTruth {
        StoreTruth(
            account: transaction.account, originalTransactionID: transaction.originalID,
            transactionID: transaction.id, productID: transaction.product.id, nextProductID: nil,
            type: transaction.product.appleType, state: transaction.revocation == nil ? .active : .revoked,
            access: transaction.revocation == nil && transaction.product.kind != .consumable,
            accessUntil: transaction.revocation?.date, expiresAt: transaction.expiresDate, willRenew: false,
            ownership: transaction.ownership)
    }
}

extension StoreTruth {
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("account", account)
        json.member("originalTransactionId", originalTransactionID)
        json.member("transactionId", transactionID)
        json.member("productId", productID)
        json.member("nextProductId", nextProductID)
        json.member("type", type)
        json.member("state", state.rawValue)
        json.member("access", access)
        json.member("accessUntil", accessUntil?.rfc3339)
        json.member("expiresAt", expiresAt?.rfc3339)
        json.member("willRenew", willRenew)
        json.member("ownership", ownership.rawValue)
        json.endObject()
    }
}
