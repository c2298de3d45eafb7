internal import JSON
package import Time

/// Apple's JWSRenewalInfoDecodedPayload. It names no bundle.
package struct RenewalInfoPayload: SignedPayload, Hashable {
    package static var kind: PayloadKind { .renewalInfo }

    package var originalTransactionID: String?
    package var appTransactionID: String?
    package var environment: Raw<PayloadEnvironment>?
    package var signedDate: Timestamp?
    /// Lower case; nil too when empty, malformed or all zero.
    package var appAccountToken: String?

    package var productID: String?
    package var autoRenewProductID: String?
    package var autoRenewStatus: Raw<AutoRenewStatus>?
    package var renewalDate: Timestamp?
    package var recentSubscriptionStartDate: Timestamp?
    package var isInBillingRetryPeriod: Bool?
    package var gracePeriodExpiresDate: Timestamp?
    package var expirationIntent: Raw<ExpirationIntent>?
    package var priceIncreaseStatus: Raw<PriceIncreaseStatus>?

    /// Milliunits of `currency`; the average per seat when several renew.
    package var renewalPrice: Int64?
    package var currency: String?
    package var renewalQuantity: Int32?
    package var renewalBillingPlanType: Raw<BillingPlanType>?
    package var commitmentInfo: RenewalCommitmentInfo?
    package var multiSeatInfo: RenewalMultiSeatInfo?

    package var offerType: Raw<OfferType>?
    package var offerIdentifier: String?
    package var offerDiscountType: Raw<OfferDiscountType>?
    /// A duration such as `P1Y`.
    package var offerPeriod: String?
    package var eligibleWinBackOfferIDs: [String] = []

    package var bundle = BundleMembership()
    package var advancedCommerceInfo: RenewalAdvancedCommerceInfo?
    package internal(set) var warnings: [PayloadWarning] = []

    private var looksRenewing = false

    package var isOfItsKind: Bool { originalTransactionID != nil && looksRenewing }
    package var dateOfSigning: Timestamp? { signedDate }
    package var origin: PayloadOrigin { PayloadOrigin(environment: environment) }

    package static let decisive: Set = [
        "originalTransactionId", "signedDate", "autoRenewStatus", "isInBillingRetryPeriod", "gracePeriodExpiresDate",
        "environment",
    ]
    package var missing: [String] {
        Self.missing(["originalTransactionId": originalTransactionID.isThere, "signedDate": signedDate != nil])
    }

    package init(json: [UInt8]) throws(PayloadError) {
        (self, warnings) = try FieldReader.read(json)
    }

    package static func fields(of json: [UInt8]) throws(PayloadError) -> [PayloadField] {
        try FieldReader.fields(of: json, as: Self.self)
    }
}

extension RenewalInfoPayload: PayloadObject {
    enum Member: String, CaseIterable {
        case originalTransactionId, appTransactionId, environment, signedDate, appAccountToken
        case productId, autoRenewProductId, autoRenewStatus, renewalDate, recentSubscriptionStartDate
        case isInBillingRetryPeriod, gracePeriodExpiresDate, expirationIntent, priceIncreaseStatus
        case renewalPrice, currency, renewalQuantity, renewalBillingPlanType, commitmentInfo, multiSeatInfo
        case offerType, offerIdentifier, offerDiscountType, offerPeriod, eligibleWinBackOfferIds
        case bundleProductId, bundleTransactionId, bundleOriginalTransactionId, bundleSubscriptionGroupId, willUnbundle
        case advancedCommerceInfo
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .originalTransactionId: originalTransactionID = try fields.string(&json)
        case .appTransactionId: appTransactionID = try fields.string(&json)
        case .environment: environment = try fields.value(&json)
        case .signedDate: signedDate = try fields.date(&json)
        case .appAccountToken: appAccountToken = try fields.accountToken(&json)
        case .productId: productID = try fields.string(&json)
        case .autoRenewProductId:
            autoRenewProductID = try fields.string(&json)
            looksRenewing = true
        case .autoRenewStatus:
            autoRenewStatus = try fields.value(&json)
            looksRenewing = true
        case .renewalDate: renewalDate = try fields.date(&json)
        case .recentSubscriptionStartDate: recentSubscriptionStartDate = try fields.date(&json)
        case .isInBillingRetryPeriod: isInBillingRetryPeriod = try fields.bool(&json)
        case .gracePeriodExpiresDate: gracePeriodExpiresDate = try fields.date(&json)
        case .expirationIntent: expirationIntent = try fields.value(&json)
        case .priceIncreaseStatus: priceIncreaseStatus = try fields.value(&json)
        case .renewalPrice: renewalPrice = try fields.money(&json)
        case .currency: currency = try fields.string(&json)
        case .renewalQuantity: renewalQuantity = try fields.int32(&json)
        case .renewalBillingPlanType: renewalBillingPlanType = try fields.value(&json)
        case .commitmentInfo: commitmentInfo = try fields.object(&json)
        case .multiSeatInfo: multiSeatInfo = try fields.object(&json)
        case .offerType: offerType = try fields.value(&json)
        case .offerIdentifier: offerIdentifier = try fields.string(&json)
        case .offerDiscountType: offerDiscountType = try fields.value(&json)
        case .offerPeriod: offerPeriod = try fields.string(&json)
        case .eligibleWinBackOfferIds: eligibleWinBackOfferIDs = try fields.strings(&json)
        case .bundleProductId: bundle.productID = try fields.string(&json)
        case .bundleTransactionId: bundle.transactionID = try fields.string(&json)
        case .bundleOriginalTransactionId: bundle.originalTransactionID = try fields.string(&json)
        case .bundleSubscriptionGroupId: bundle.subscriptionGroupID = try fields.string(&json)
        case .willUnbundle: bundle.willUnbundle = try fields.bool(&json)
        case .advancedCommerceInfo: advancedCommerceInfo = try fields.object(&json)
        }
    }
}
