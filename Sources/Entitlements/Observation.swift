package import Time

/// One verified, signed piece of news about one lineage, whichever way it came.
///
/// Facts are what the reducer folds; the rest says where they came from. `AppStore` makes observations out of
/// Apple's payloads, nothing else does (invariant 6).
package struct Observation: Sendable, Hashable {
    package enum Source: String, Sendable { case notification, device, status, history, receipt }

    package var lineage: LineageID
    package var source: Source
    /// When Apple signed the envelope (the notification, or the newest fact where there is no envelope).
    package var signedDate: Timestamp
    /// Apple's notificationType, subtype and notificationUUID, raw; nil for other sources.
    package var notificationType: String?
    package var subtype: String?
    package var notificationUUID: String?
    package var transaction: TransactionFact?
    package var renewal: RenewalFact?
    /// Apple's `status` of the subscription (1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked).
    package var status: StatusFact?
    /// A claim that was accepted; the one fact that Apple did not sign.
    package var claim: ClaimFact?

    package init(
        lineage: LineageID, source: Source, signedDate: Timestamp, notificationType: String? = nil,
        subtype: String? = nil, notificationUUID: String? = nil, transaction: TransactionFact? = nil,
        renewal: RenewalFact? = nil, status: StatusFact? = nil, claim: ClaimFact? = nil
    ) {
        self.lineage = lineage
        self.source = source
        self.signedDate = signedDate
        self.notificationType = notificationType
        self.subtype = subtype
        self.notificationUUID = notificationUUID
        self.transaction = transaction
        self.renewal = renewal
        self.status = status
        self.claim = claim
    }
}

/// What Apple signed about one transaction (JWSTransactionDecodedPayload), reduced to what rules read.
/// Enumerated values stay raw strings and numbers: an unknown one must survive.
package struct TransactionFact: Sendable, Hashable {
    package var transactionID: String
    package var originalTransactionID: String
    package var productID: String
    package var signedDate: Timestamp
    package var purchaseDate: Timestamp
    package var originalPurchaseDate: Timestamp?
    /// Absent for what does not expire by itself.
    package var expiresDate: Timestamp?
    /// Apple's `type`, such as "Auto-Renewable Subscription".
    package var type: String?
    package var subscriptionGroupID: String?
    /// Lower-case UUID; absent, malformed and all-zero are all nil.
    package var appAccountToken: String?
    /// Apple's `inAppOwnershipType`: PURCHASED, FAMILY_SHARED, ASSIGNED.
    package var ownership: String?
    package var isUpgraded: Bool
    package var quantity: Int64?
    package var revocationDate: Timestamp?
    package var revocationReason: Int64?
    package var revocationType: String?
    /// Milli-percent, 50000 = 50 %.
    package var revocationPercentage: Int64?
    package var revokedSeatQuantity: Int64?
    package var offerType: Int64?
    package var offerIdentifier: String?
    package var offerDiscountType: String?
    package var transactionReason: String?
    /// Milliunits of `currency`.
    package var price: Int64?
    package var currency: String?
    package var storefront: String?
    /// SHA-256 of the signed payload's bytes, hexadecimal: the last resort of the total order on ties.
    package var payloadHash: String

    package init(
        transactionID: String, originalTransactionID: String, productID: String, signedDate: Timestamp,
        purchaseDate: Timestamp, originalPurchaseDate: Timestamp? = nil, expiresDate: Timestamp? = nil,
        type: String? = nil, subscriptionGroupID: String? = nil, appAccountToken: String? = nil,
        ownership: String? = nil, isUpgraded: Bool = false, quantity: Int64? = nil,
        revocationDate: Timestamp? = nil, revocationReason: Int64? = nil, revocationType: String? = nil,
        revocationPercentage: Int64? = nil, revokedSeatQuantity: Int64? = nil, offerType: Int64? = nil,
        offerIdentifier: String? = nil, offerDiscountType: String? = nil, transactionReason: String? = nil,
        price: Int64? = nil, currency: String? = nil, storefront: String? = nil, payloadHash: String
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.signedDate = signedDate
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = originalPurchaseDate
        self.expiresDate = expiresDate
        self.type = type
        self.subscriptionGroupID = subscriptionGroupID
        self.appAccountToken = appAccountToken
        self.ownership = ownership
        self.isUpgraded = isUpgraded
        self.quantity = quantity
        self.revocationDate = revocationDate
        self.revocationReason = revocationReason
        self.revocationType = revocationType
        self.revocationPercentage = revocationPercentage
        self.revokedSeatQuantity = revokedSeatQuantity
        self.offerType = offerType
        self.offerIdentifier = offerIdentifier
        self.offerDiscountType = offerDiscountType
        self.transactionReason = transactionReason
        self.price = price
        self.currency = currency
        self.storefront = storefront
        self.payloadHash = payloadHash
    }
}

/// What Apple signed about how a subscription will go on (JWSRenewalInfoDecodedPayload), reduced to what rules read.
package struct RenewalFact: Sendable, Hashable {
    package var originalTransactionID: String
    package var signedDate: Timestamp
    package var productID: String?
    package var autoRenewProductID: String?
    /// 0 off, 1 on.
    package var autoRenewStatus: Int64?
    package var isInBillingRetryPeriod: Bool?
    package var gracePeriodExpiresDate: Timestamp?
    package var expirationIntent: Int64?
    package var priceIncreaseStatus: Int64?
    package var renewalDate: Timestamp?
    package var appAccountToken: String?
    package var offerType: Int64?
    package var offerIdentifier: String?
    package var offerDiscountType: String?
    /// What the next renewal costs, in milliunits of `currency`.
    package var renewalPrice: Int64?
    package var currency: String?
    package var payloadHash: String

    package init(
        originalTransactionID: String, signedDate: Timestamp, productID: String? = nil,
        autoRenewProductID: String? = nil, autoRenewStatus: Int64? = nil, isInBillingRetryPeriod: Bool? = nil,
        gracePeriodExpiresDate: Timestamp? = nil, expirationIntent: Int64? = nil, priceIncreaseStatus: Int64? = nil,
        renewalDate: Timestamp? = nil, appAccountToken: String? = nil, offerType: Int64? = nil,
        offerIdentifier: String? = nil, offerDiscountType: String? = nil, renewalPrice: Int64? = nil,
        currency: String? = nil, payloadHash: String
    ) {
        self.originalTransactionID = originalTransactionID
        self.signedDate = signedDate
        self.productID = productID
        self.autoRenewProductID = autoRenewProductID
        self.autoRenewStatus = autoRenewStatus
        self.isInBillingRetryPeriod = isInBillingRetryPeriod
        self.gracePeriodExpiresDate = gracePeriodExpiresDate
        self.expirationIntent = expirationIntent
        self.priceIncreaseStatus = priceIncreaseStatus
        self.renewalDate = renewalDate
        self.appAccountToken = appAccountToken
        self.offerType = offerType
        self.offerIdentifier = offerIdentifier
        self.offerDiscountType = offerDiscountType
        self.renewalPrice = renewalPrice
        self.currency = currency
        self.payloadHash = payloadHash
    }
}

/// Apple's `status` of a subscription, with the signed date of the envelope that said it.
package struct StatusFact: Sendable, Hashable {
    package var status: Int64
    package var signedDate: Timestamp

    package init(status: Int64, signedDate: Timestamp) {
        self.status = status
        self.signedDate = signedDate
    }
}
