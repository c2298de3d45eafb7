internal import JSON
package import Time

/// Apple's JWSTransactionDecodedPayload, as far as rules and people read it; enumerated values stay raw.
package struct TransactionPayload: SignedPayload, Hashable {
    package static var kind: PayloadKind { .transaction }

    package var transactionID: String?
    package var originalTransactionID: String?
    package var webOrderLineItemID: String?
    package var bundleID: String?
    package var productID: String?
    package var subscriptionGroupID: String?
    package var type: String?
    package var environment: String?
    package var signedDate: Timestamp?
    package var purchaseDate: Timestamp?
    package var originalPurchaseDate: Timestamp?
    package var expiresDate: Timestamp?
    package var quantity: Int64?
    /// Lower case; nil too when empty, malformed or all zero.
    package var appAccountToken: String?
    package var inAppOwnershipType: String?
    package var isUpgraded: Bool?
    package var revocationDate: Timestamp?
    package var revocationReason: Int64?
    package var revocationType: String?
    package var revocationPercentage: Int64?
    package var revokedSeatQuantity: Int64?
    package var offerType: Int64?
    package var offerIdentifier: String?
    package var offerDiscountType: String?
    package var offerPeriod: String?
    package var transactionReason: String?
    /// Milliunits of `currency`.
    package var price: Int64?
    package var currency: String?
    package var storefront: String?
    package var storefrontID: String?
    package var appTransactionID: String?
    package var billingPlanType: String?
    package var previousOriginalTransactionID: String?
    package private(set) var warnings: [PayloadWarning] = []

    package var isOfItsKind: Bool { transactionID != nil }
    package var dateOfSigning: Timestamp? { signedDate }

    package init(json: [UInt8]) throws(PayloadError) {
        var it = TransactionPayload()
        it.warnings = try FieldReader.read(json) { (fields, reader, key) throws(JSONError) in
            switch key {
            case "transactionId": it.transactionID = try fields.string(&reader, key)
            case "originalTransactionId": it.originalTransactionID = try fields.string(&reader, key)
            case "webOrderLineItemId": it.webOrderLineItemID = try fields.string(&reader, key)
            case "bundleId": it.bundleID = try fields.string(&reader, key)
            case "productId": it.productID = try fields.string(&reader, key)
            case "subscriptionGroupIdentifier": it.subscriptionGroupID = try fields.string(&reader, key)
            case "type": it.type = try fields.string(&reader, key)
            case "environment": it.environment = try fields.string(&reader, key)
            case "signedDate": it.signedDate = try fields.date(&reader, key)
            case "purchaseDate": it.purchaseDate = try fields.date(&reader, key)
            case "originalPurchaseDate": it.originalPurchaseDate = try fields.date(&reader, key)
            case "expiresDate": it.expiresDate = try fields.date(&reader, key)
            case "quantity": it.quantity = try fields.integer(&reader, key)
            case "appAccountToken": it.appAccountToken = try fields.uuid(&reader, key)
            case "inAppOwnershipType": it.inAppOwnershipType = try fields.string(&reader, key)
            case "isUpgraded": it.isUpgraded = try fields.bool(&reader, key)
            case "revocationDate": it.revocationDate = try fields.date(&reader, key)
            case "revocationReason": it.revocationReason = try fields.integer(&reader, key)
            case "revocationType": it.revocationType = try fields.string(&reader, key)
            case "revocationPercentage": it.revocationPercentage = try fields.integer(&reader, key)
            // The documentation shows it in both places.
            case "revokedSeatQuantity": it.revokedSeatQuantity = try fields.integer(&reader, key)
            case "multiSeatInfo":
                _ = try fields.object(&reader, key) { (fields, reader, key) throws(JSONError) in
                    if key == "revokedSeatQuantity" {
                        it.revokedSeatQuantity = try fields.integer(&reader, key)
                    } else {
                        try reader.skip()
                    }
                }
            case "offerType": it.offerType = try fields.integer(&reader, key)
            case "offerIdentifier": it.offerIdentifier = try fields.string(&reader, key)
            case "offerDiscountType": it.offerDiscountType = try fields.string(&reader, key)
            case "offerPeriod": it.offerPeriod = try fields.string(&reader, key)
            case "transactionReason": it.transactionReason = try fields.string(&reader, key)
            case "price": it.price = try fields.integer(&reader, key)
            case "currency": it.currency = try fields.string(&reader, key)
            case "storefront": it.storefront = try fields.string(&reader, key)
            case "storefrontId": it.storefrontID = try fields.string(&reader, key)
            case "appTransactionId": it.appTransactionID = try fields.string(&reader, key)
            case "billingPlanType": it.billingPlanType = try fields.string(&reader, key)
            case "previousOriginalTransactionId": it.previousOriginalTransactionID = try fields.string(&reader, key)
            default: try reader.skip()
            }
        }
        self = it
    }

    private init() {}
}
