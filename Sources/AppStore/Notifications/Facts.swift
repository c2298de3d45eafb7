package import Entitlements
internal import Time

extension Verified<TransactionPayload> {
    /// What the rules read of it; throws when something is missing that they cannot do without, or is there and
    /// unreadable: an expiry date that is damaged must not count as "never expires".
    package func fact() throws(VerificationFailure) -> TransactionFact {
        try refuseDamage()
        return TransactionFact(
            transactionID: try required(payload.transactionID, "transactionId"),
            originalTransactionID: try required(payload.originalTransactionID, "originalTransactionId"),
            productID: try required(payload.productID, "productId"),
            signedDate: try required(payload.signedDate, "signedDate"),
            purchaseDate: try required(payload.purchaseDate, "purchaseDate"),
            originalPurchaseDate: payload.originalPurchaseDate, expiresDate: payload.expiresDate,
            type: payload.type?.raw,
            subscriptionGroupID: payload.subscriptionGroupID, appAccountToken: payload.appAccountToken,
            ownership: payload.inAppOwnershipType?.raw, isUpgraded: payload.isUpgraded ?? false,
            quantity: payload.quantity.map(Int64.init), revocationDate: payload.revocationDate,
            revocationReason: payload.revocationReason?.raw, revocationType: payload.revocationType?.raw,
            revocationPercentage: payload.revocationPercentage.map(Int64.init),
            revokedSeatQuantity: payload.revokedSeatQuantity.map(Int64.init),
            offerType: payload.offerType?.raw, offerIdentifier: payload.offerIdentifier,
            offerDiscountType: payload.offerDiscountType?.raw, transactionReason: payload.transactionReason?.raw,
            price: payload.price, currency: payload.currency, storefront: payload.storefront, payloadHash: hash)
    }
}

extension Verified<RenewalInfoPayload> {
    /// What the rules read of it, under the same conditions.
    package func fact() throws(VerificationFailure) -> RenewalFact {
        try refuseDamage()
        return RenewalFact(
            originalTransactionID: try required(payload.originalTransactionID, "originalTransactionId"),
            signedDate: try required(payload.signedDate, "signedDate"), productID: payload.productID,
            autoRenewProductID: payload.autoRenewProductID, autoRenewStatus: payload.autoRenewStatus?.raw,
            isInBillingRetryPeriod: payload.isInBillingRetryPeriod,
            gracePeriodExpiresDate: payload.gracePeriodExpiresDate, expirationIntent: payload.expirationIntent?.raw,
            priceIncreaseStatus: payload.priceIncreaseStatus?.raw, renewalDate: payload.renewalDate,
            appAccountToken: payload.appAccountToken, offerType: payload.offerType?.raw,
            offerIdentifier: payload.offerIdentifier, offerDiscountType: payload.offerDiscountType?.raw,
            renewalPrice: payload.renewalPrice, currency: payload.currency, payloadHash: hash)
    }
}

extension Verified {
    /// Throws the first thing that keeps it from being used.
    func refuseDamage() throws(VerificationFailure) {
        if let failure = payload.damage.first { throw failure }
    }

    fileprivate func required<Value>(_ value: Value?, _ field: String) throws(VerificationFailure) -> Value {
        guard let value else {
            throw VerificationFailure(.payload, Payload.kind.part, "\(field) is missing")
        }
        return value
    }
}
