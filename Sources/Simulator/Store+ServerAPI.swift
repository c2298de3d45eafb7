internal import Time

/// What the Server API finds, and the little it changes.
extension Store {
    /// Decimal digits, as all of Apple's ids are.
    static func isIdentifier(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 32 && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Whom a transaction id, an original one or an app transaction id names.
    func customer(_ anyTransactionID: String) throws(APIError) -> Account {
        guard Self.isIdentifier(anyTransactionID) else { throw .invalidTransactionID }
        let token = appTransactionOwners[anyTransactionID] ?? transactions[anyTransactionID]?.account
        guard let account = token.flatMap({ accounts[$0] }) else { throw .transactionNotFound }
        return account
    }

    /// The transaction of that id; an app transaction's is not taken.
    func transaction(_ id: String) throws(APIError) -> StoreTransaction {
        guard Self.isIdentifier(id) else { throw .invalidTransactionID }
        guard let transaction = transactions[id] else {
            throw appTransactionOwners[id] == nil ? .transactionNotFound : .appTransactionNotSupported
        }
        return transaction
    }

    func appTransaction(ofCustomer id: String) throws(APIError) -> AppTransaction {
        let account = try customer(id)
        guard account.hasAppTransaction else { throw .noAppTransaction }
        return appTransaction(of: account)
    }

    /// Each of the customer's subscriptions with its newest transaction.
    func subscriptions(ofCustomer id: String) throws(APIError) -> [(StoreTransaction, StoreRenewal)] {
        try customer(id).subscriptionIDs.values.sorted().compactMap { id in
            guard let subscription = subscriptions[id], let transaction = newest(of: subscription),
                let renewal = renewal(of: id)
            else { return nil }
            return (transaction, renewal)
        }
    }

    /// Everything the customer bought, what changed last at the end.
    func history(ofCustomer id: String) throws(APIError) -> [StoreTransaction] {
        transactions(of: try customer(id).token).sorted { $0.change < $1.change }
    }

    /// What the customer got money back for.
    func refunds(ofCustomer id: String) throws(APIError) -> [StoreTransaction] {
        try history(ofCustomer: id).filter { $0.revocation?.kind == .refund || ($0.seats?.revoked ?? 0) > 0 }
    }

    // MARK: Orders

    /// The order id on the customer's e-mail receipt: `M`, then the transaction id in other digits. A family member
    /// orders nothing.
    func orderID(of transaction: StoreTransaction) -> String? {
        guard transaction.ownership == .purchased, let number = UInt64(transaction.id) else { return nil }
        return "M" + String(number, radix: 36, uppercase: true)
    }

    /// The order's transactions; empty for what is no order.
    func purchases(inOrder id: String) -> [StoreTransaction] {
        guard id.first == "M", id.utf8.count <= 16, let number = UInt64(id.dropFirst(), radix: 36),
            let transaction = transactions[String(number)], orderID(of: transaction) == id
        else { return [] }
        return [transaction]
    }

    // MARK: Changes

    /// Sets the token on a purchase: of a subscription, on its newest period and those to come.
    mutating func setAccountToken(_ token: String, ofOriginal id: String) throws(APIError) {
        let transaction = try transaction(id)
        guard transaction.originalID == id else { throw .notOriginal }
        guard transaction.ownership == .purchased else { throw .familyNotSupported }
        let token = token.lowercased()
        guard Self.isUUID(token) else { throw .invalidAccountTokenUUID }
        guard let subscription = subscriptions[id] else {
            transactions[id]?.accountToken = token
            return
        }
        subscriptions[id]?.accountToken = token
        let begun = subscription.transactionIDs.last {
            transactions[$0].map { $0.purchaseDate <= now } ?? false
        }
        for id in subscription.transactionIDs.drop(while: { $0 != begun }) { transactions[id]?.accountToken = token }
    }

    mutating func finish(_ id: String) throws(APIError) {
        transactions.finish(try transaction(id).id)
    }

    mutating func add(_ report: ConsumptionReport, to id: String) throws(APIError) {
        let transaction = try transaction(id)
        guard transaction.ownership == .purchased else { throw .familyNotSupported }
        var reports = consumption[id] ?? []
        // Somebody who sends again and again does not fill the memory.
        if reports.count >= 100 { reports.removeFirst() }
        consumption[id] = reports + [report]
    }
}
