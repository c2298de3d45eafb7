internal import JSON
package import Time

/// Apple's JWSTransactionDecodedPayload.
package struct TransactionPayload: SignedPayload, Hashable {
    package static var kind: PayloadKind { .transaction }

    package var transactionID: String?
    package var originalTransactionID: String?
    package var webOrderLineItemID: String?
    package var appTransactionID: String?
    /// The lineage it was part of before a migration.
    package var previousOriginalTransactionID: String?
    package var bundleID: String?
    package var environment: Raw<PayloadEnvironment>?
    package var signedDate: Timestamp?

    package var productID: String?
    package var type: Raw<ProductType>?
    package var subscriptionGroupID: String?
    package var quantity: Int32?
    package var purchaseDate: Timestamp?
    package var originalPurchaseDate: Timestamp?
    package var expiresDate: Timestamp?
    package var isUpgraded: Bool?
    package var transactionReason: Raw<TransactionReason>?
    /// Values are not published yet.
    package var additionalTransactionReason: String?

    /// Lower case; nil too when empty, malformed or all zero.
    package var appAccountToken: String?
    package var inAppOwnershipType: Raw<InAppOwnershipType>?

    package var revocationDate: Timestamp?
    package var revocationReason: Raw<PurchaseRevocationReason>?
    package var revocationType: Raw<PurchaseRevocationType>?
    /// Milli-percent, 50000 = 50 %.
    package var revocationPercentage: Int32?

    package var offerType: Raw<OfferType>?
    package var offerIdentifier: String?
    package var offerDiscountType: Raw<OfferDiscountType>?
    /// A duration such as `P1Y`.
    package var offerPeriod: String?

    /// Milliunits of `currency`; the average per seat when several were bought.
    package var price: Int64?
    package var currency: String?
    package var storefront: String?
    package var storefrontID: String?
    package var billingPlanType: Raw<BillingPlanType>?
    package var commitmentInfo: TransactionCommitmentInfo?

    package var multiSeatInfo: TransactionMultiSeatInfo?
    package var invitationManagement: Raw<InvitationManagement>?
    /// Beside `multiSeatInfo`; the documentation is not plain about where it stands.
    private var revokedSeats: Int32?

    package var bundle = BundleMembership()
    package var advancedCommerceInfo: TransactionAdvancedCommerceInfo?
    package internal(set) var warnings: [PayloadWarning] = []

    package var isOfItsKind: Bool { transactionID != nil }
    package var dateOfSigning: Timestamp? { signedDate }
    package var origin: PayloadOrigin { PayloadOrigin(bundleID: bundleID, environment: environment) }
    /// How many of the seats were refunded.
    package var revokedSeatQuantity: Int32? { revokedSeats ?? multiSeatInfo?.revokedSeatQuantity }

    package static let decisive: Set = [
        "transactionId", "originalTransactionId", "productId", "signedDate", "purchaseDate", "expiresDate",
        "revocationDate", "isUpgraded", "environment", "bundleId", "type",
    ]
    package var missing: [String] {
        Self.missing([
            "transactionId": transactionID.isThere, "originalTransactionId": originalTransactionID.isThere,
            "productId": productID.isThere, "signedDate": signedDate != nil, "purchaseDate": purchaseDate != nil,
        ])
    }

    package init(json: [UInt8]) throws(PayloadError) {
        (self, warnings) = try FieldReader.read(json)
    }

    package static func fields(of json: [UInt8]) throws(PayloadError) -> [PayloadField] {
        try FieldReader.fields(of: json, as: Self.self)
    }
}

extension TransactionPayload: PayloadObject {
    enum Member: String, CaseIterable {
        case transactionId, originalTransactionId, webOrderLineItemId, appTransactionId, previousOriginalTransactionId
        case bundleId, environment, signedDate
        case productId, type, subscriptionGroupIdentifier, quantity, purchaseDate, originalPurchaseDate, expiresDate
        case isUpgraded, transactionReason, additionalTransactionReason
        case appAccountToken, inAppOwnershipType
        case revocationDate, revocationReason, revocationType, revocationPercentage, revokedSeatQuantity
        case offerType, offerIdentifier, offerDiscountType, offerPeriod
        case price, currency, storefront, storefrontId, billingPlanType, commitmentInfo
        case multiSeatInfo, invitationManagement
        case bundleProductId, bundleTransactionId, bundleOriginalTransactionId, bundleSubscriptionGroupId, willUnbundle
        case advancedCommerceInfo
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .transactionId: transactionID = try fields.string(&json)
        case .originalTransactionId: originalTransactionID = try fields.string(&json)
        case .webOrderLineItemId: webOrderLineItemID = try fields.string(&json)
        case .appTransactionId: appTransactionID = try fields.string(&json)
        case .previousOriginalTransactionId: previousOriginalTransactionID = try fields.string(&json)
        case .bundleId: bundleID = try fields.string(&json)
        case .environment: environment = try fields.value(&json)
        case .signedDate: signedDate = try fields.date(&json)
        case .productId: productID = try fields.string(&json)
        case .type: type = try fields.value(&json)
        case .subscriptionGroupIdentifier: subscriptionGroupID = try fields.string(&json)
        case .quantity: quantity = try fields.int32(&json)
        case .purchaseDate: purchaseDate = try fields.date(&json)
        case .originalPurchaseDate: originalPurchaseDate = try fields.date(&json)
        case .expiresDate: expiresDate = try fields.date(&json)
        case .isUpgraded: isUpgraded = try fields.bool(&json)
        case .transactionReason: transactionReason = try fields.value(&json)
        case .additionalTransactionReason: additionalTransactionReason = try fields.string(&json)
        case .appAccountToken: appAccountToken = try fields.accountToken(&json)
        case .inAppOwnershipType: inAppOwnershipType = try fields.value(&json)
        case .revocationDate: revocationDate = try fields.date(&json)
        case .revocationReason: revocationReason = try fields.value(&json)
        case .revocationType: revocationType = try fields.value(&json)
        case .revocationPercentage: revocationPercentage = try fields.percentage(&json)
        case .revokedSeatQuantity: revokedSeats = try fields.int32(&json)
        case .offerType: offerType = try fields.value(&json)
        case .offerIdentifier: offerIdentifier = try fields.string(&json)
        case .offerDiscountType: offerDiscountType = try fields.value(&json)
        case .offerPeriod: offerPeriod = try fields.string(&json)
        case .price: price = try fields.money(&json)
        case .currency: currency = try fields.string(&json)
        case .storefront: storefront = try fields.string(&json)
        case .storefrontId: storefrontID = try fields.string(&json)
        case .billingPlanType: billingPlanType = try fields.value(&json)
        case .commitmentInfo: commitmentInfo = try fields.object(&json)
        case .multiSeatInfo: multiSeatInfo = try fields.object(&json)
        case .invitationManagement: invitationManagement = try fields.value(&json)
        case .bundleProductId: bundle.productID = try fields.string(&json)
        case .bundleTransactionId: bundle.transactionID = try fields.string(&json)
        case .bundleOriginalTransactionId: bundle.originalTransactionID = try fields.string(&json)
        case .bundleSubscriptionGroupId: bundle.subscriptionGroupID = try fields.string(&json)
        case .willUnbundle: bundle.willUnbundle = try fields.bool(&json)
        case .advancedCommerceInfo: advancedCommerceInfo = try fields.object(&json)
        }
    }
}
