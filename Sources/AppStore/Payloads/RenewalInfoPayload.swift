internal import JSON
package import Time

/// Apple's JWSRenewalInfoDecodedPayload, as far as rules and people read it. It names no bundle.
package struct RenewalInfoPayload: SignedPayload, Hashable {
    package static var kind: PayloadKind { .renewalInfo }

    package var originalTransactionID: String?
    package var productID: String?
    package var autoRenewProductID: String?
    package var autoRenewStatus: Int64?
    package var environment: String?
    package var signedDate: Timestamp?
    package var isInBillingRetryPeriod: Bool?
    package var gracePeriodExpiresDate: Timestamp?
    package var expirationIntent: Int64?
    package var priceIncreaseStatus: Int64?
    package var renewalDate: Timestamp?
    package var recentSubscriptionStartDate: Timestamp?
    /// Milliunits of `currency`.
    package var renewalPrice: Int64?
    package var currency: String?
    package var offerType: Int64?
    package var offerIdentifier: String?
    package var offerDiscountType: String?
    package var offerPeriod: String?
    package var eligibleWinBackOfferIDs: [String] = []
    package var appAccountToken: String?
    package var appTransactionID: String?
    package var renewalBillingPlanType: String?
    package var renewalQuantity: Int64?
    package private(set) var warnings: [PayloadWarning] = []

    private var looksRenewing = false

    package var isOfItsKind: Bool { originalTransactionID != nil && looksRenewing }
    package var dateOfSigning: Timestamp? { signedDate }

    package init(json: [UInt8]) throws(PayloadError) {
        var it = RenewalInfoPayload()
        var isTransaction = false
        it.warnings = try FieldReader.read(json) { (fields, reader, key) throws(JSONError) in
            switch key {
            case "originalTransactionId": it.originalTransactionID = try fields.string(&reader, key)
            case "productId": it.productID = try fields.string(&reader, key)
            case "autoRenewProductId":
                it.autoRenewProductID = try fields.string(&reader, key)
                it.looksRenewing = true
            case "autoRenewStatus":
                it.autoRenewStatus = try fields.integer(&reader, key)
                it.looksRenewing = true
            case "environment": it.environment = try fields.string(&reader, key)
            case "signedDate": it.signedDate = try fields.date(&reader, key)
            case "isInBillingRetryPeriod": it.isInBillingRetryPeriod = try fields.bool(&reader, key)
            case "gracePeriodExpiresDate": it.gracePeriodExpiresDate = try fields.date(&reader, key)
            case "expirationIntent": it.expirationIntent = try fields.integer(&reader, key)
            case "priceIncreaseStatus": it.priceIncreaseStatus = try fields.integer(&reader, key)
            case "renewalDate": it.renewalDate = try fields.date(&reader, key)
            case "recentSubscriptionStartDate": it.recentSubscriptionStartDate = try fields.date(&reader, key)
            case "renewalPrice": it.renewalPrice = try fields.integer(&reader, key)
            case "currency": it.currency = try fields.string(&reader, key)
            case "offerType": it.offerType = try fields.integer(&reader, key)
            case "offerIdentifier": it.offerIdentifier = try fields.string(&reader, key)
            case "offerDiscountType": it.offerDiscountType = try fields.string(&reader, key)
            case "offerPeriod": it.offerPeriod = try fields.string(&reader, key)
            case "eligibleWinBackOfferIds": it.eligibleWinBackOfferIDs = try fields.strings(&reader, key)
            case "appAccountToken": it.appAccountToken = try fields.uuid(&reader, key)
            case "appTransactionId": it.appTransactionID = try fields.string(&reader, key)
            case "renewalBillingPlanType": it.renewalBillingPlanType = try fields.string(&reader, key)
            case "renewalQuantity": it.renewalQuantity = try fields.integer(&reader, key)
            case "transactionId":
                isTransaction = true
                try reader.skip()
            default: try reader.skip()
            }
        }
        if isTransaction { it.looksRenewing = false }
        self = it
    }

    private init() {}
}
