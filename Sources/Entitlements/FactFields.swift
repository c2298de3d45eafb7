import Time

// The fields of every fact in the record, in their order. Keys are short because a record holds up to 64 transactions,
// and readable enough for `redis-cli`. A new field goes to the end of its list and needs a new `LineageRecord.version`.

extension TransactionFact: CodedFact {
    init() {
        let zero = Timestamp(milliseconds: 0)
        self.init(
            transactionID: "", originalTransactionID: "", productID: "", signedDate: zero, purchaseDate: zero,
            payloadHash: "")
    }

    mutating func code(with coder: inout some FactCoder) {
        coder.field("id", &transactionID)
        coder.field("orig", &originalTransactionID)
        coder.field("prod", &productID)
        coder.field("signed", &signedDate)
        coder.field("from", &purchaseDate)
        coder.field("first", &originalPurchaseDate)
        coder.field("to", &expiresDate)
        coder.field("type", &type)
        coder.field("group", &subscriptionGroupID)
        coder.field("token", &appAccountToken)
        coder.field("own", &ownership)
        coder.field("upgraded", &isUpgraded)
        coder.field("qty", &quantity)
        coder.field("revoked", &revocationDate)
        coder.field("revReason", &revocationReason)
        coder.field("revType", &revocationType)
        coder.field("revPct", &revocationPercentage)
        coder.field("revSeats", &revokedSeatQuantity)
        coder.field("offer", &offerType)
        coder.field("offerId", &offerIdentifier)
        coder.field("discount", &offerDiscountType)
        coder.field("reason", &transactionReason)
        coder.field("price", &price)
        coder.field("cur", &currency)
        coder.field("store", &storefront)
        coder.field("hash", &payloadHash)
    }
}

extension RenewalFact: CodedFact {
    init() {
        self.init(originalTransactionID: "", signedDate: Timestamp(milliseconds: 0), payloadHash: "")
    }

    mutating func code(with coder: inout some FactCoder) {
        coder.field("orig", &originalTransactionID)
        coder.field("signed", &signedDate)
        coder.field("prod", &productID)
        coder.field("next", &autoRenewProductID)
        coder.field("auto", &autoRenewStatus)
        coder.field("retry", &isInBillingRetryPeriod)
        coder.field("grace", &gracePeriodExpiresDate)
        coder.field("intent", &expirationIntent)
        coder.field("consent", &priceIncreaseStatus)
        coder.field("renews", &renewalDate)
        coder.field("token", &appAccountToken)
        coder.field("offer", &offerType)
        coder.field("offerId", &offerIdentifier)
        coder.field("hash", &payloadHash)
        // Version 2.
        coder.field("discount", &offerDiscountType)
        coder.field("price", &renewalPrice)
        coder.field("cur", &currency)
    }
}

extension StatusFact: CodedFact {
    init() { self.init(status: 0, signedDate: Timestamp(milliseconds: 0)) }

    mutating func code(with coder: inout some FactCoder) {
        coder.field("status", &status)
        coder.field("signed", &signedDate)
    }
}

extension OwnerFact: CodedFact {
    init() { self.init(customer: "", signedDate: Timestamp(milliseconds: 0), payloadHash: "") }

    mutating func code(with coder: inout some FactCoder) {
        coder.field("id", &customer)
        coder.field("signed", &signedDate)
        coder.field("hash", &payloadHash)
    }
}

extension ClaimFact: CodedFact {
    init() { self.init(customer: "", claimedAt: Timestamp(milliseconds: 0), transactionID: "") }

    mutating func code(with coder: inout some FactCoder) {
        coder.field("id", &customer)
        coder.field("at", &claimedAt)
        coder.field("tx", &transactionID)
        coder.field("over", &over)
        coder.field("takes", &takesOver)
    }
}
