internal import JSON
package import Time

/// One account's subscription to one group: everything under one original transaction id.
package struct StoreSubscription: Sendable, Hashable {
    package enum Phase: Sendable, Hashable {
        case active
        case grace(until: Timestamp, retryUntil: Timestamp)
        case retry(until: Timestamp)
        case expired(Intent)
        case revoked
    }

    /// Apple's `expirationIntent`.
    package enum Intent: Int64, Sendable {
        case cancelled = 1, billing, priceIncrease, productGone
    }

    /// An offer that more than one period is sold under.
    package struct OfferRun: Sendable, Hashable {
        package var offer: StoreOffer
        package var left: Int
    }

    package enum PriceIncrease: Sendable, Hashable {
        /// The customer has not consented yet.
        case pending(Int64)
        case accepted(Int64)
    }

    package let originalID: String
    package let account: String
    package let group: String
    package var productID: String
    /// What it renews to.
    package var nextProductID: String
    package var willRenew = true
    package var phase = Phase.active
    /// Oldest first; the last may not have begun yet, being charged before the period before it ends.
    package var transactionIDs: [String] = []
    /// When the present run of unbroken periods began.
    package var startedAt: Timestamp
    package var offer: OfferRun?
    package var priceIncrease: PriceIncrease?
    package var ownership = StoreTransaction.Ownership.purchased
    /// The original transaction id that a family member's subscription follows.
    package var sharedFrom: String?
    package var members: [String] = []
    /// What the present and the coming periods carry; Set App Account Token may change it.
    package internal(set) var accountToken: String?
    /// When its renewal date was put off on the developer's request.
    var extendedAt: [Timestamp] = []
    /// Of a multiseat purchase.
    var seats: SeatClaims?

    /// Apple's `status`.
    package var status: Int64 {
        switch phase {
        case .active: 1
        case .expired: 2
        case .retry: 3
        case .grace: 4
        case .revoked: 5
        }
    }
}

/// What Apple says of a subscription's future at one moment.
package struct StoreRenewal: Sendable, Hashable {
    package let subscription: StoreSubscription
    /// Of the period that ends next; where the next one is charged.
    package let renewalDate: Timestamp?
    package let price: Int64
    package let offer: StoreOffer?
    package let accountToken: String?
    package let appTransactionID: String

    /// JWSRenewalInfoDecodedPayload.
    func payload(signedAt signedDate: Timestamp, in settings: StoreSettings, _ storefront: Storefront) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 1024)
        json.beginObject()
        if case .expired(let intent) = subscription.phase { json.member("expirationIntent", intent.rawValue) }
        if subscription.isFailingToPay { json.member("expirationIntent", StoreSubscription.Intent.billing.rawValue) }
        json.member("originalTransactionId", subscription.originalID)
        json.member("autoRenewProductId", subscription.nextProductID)
        json.member("productId", subscription.productID)
        json.member("autoRenewStatus", subscription.willRenew ? 1 : 0)
        json.member("isInBillingRetryPeriod", subscription.isFailingToPay)
        switch subscription.priceIncrease {
        case .pending: json.member("priceIncreaseStatus", 0)
        case .accepted: json.member("priceIncreaseStatus", 1)
        case nil: break
        }
        if case .grace(let until, _) = subscription.phase {
            json.member("gracePeriodExpiresDate", until.milliseconds)
        }
        if subscription.willRenew, let offer { offer.write(to: &json) }
        json.member("signedDate", signedDate.milliseconds)
        json.member("environment", settings.environment.rawValue)
        json.member("recentSubscriptionStartDate", subscription.startedAt.milliseconds)
        if let renewalDate { json.member("renewalDate", renewalDate.milliseconds) }
        if subscription.willRenew {
            json.member("renewalPrice", price)
            json.member("currency", storefront.currency)
        }
        if let accountToken { json.member("appAccountToken", accountToken) }
        json.member("appTransactionId", appTransactionID)
        if let seats = subscription.seats, subscription.willRenew {
            json.member("renewalQuantity", seats.renewalQuantity)
            json.object("multiSeatInfo") { json in
                json.array("renewalPriceTiers", [seats.renewalQuantity]) { json, quantity in
                    json.beginObject()
                    json.member("price", price)
                    json.member("quantity", quantity)
                    json.endObject()
                }
            }
        }
        json.endObject()
        return json.bytes
    }
}

extension StoreSubscription {
    var isFailingToPay: Bool {
        switch phase {
        case .grace, .retry: true
        case .active, .expired, .revoked: false
        }
    }

    /// Neither expired nor revoked: it may still go on by itself.
    var isLive: Bool {
        switch phase {
        case .active, .grace, .retry: true
        case .expired, .revoked: false
        }
    }
}
