internal import JSON
package import Time

/// One purchase or one renewal, as Apple signs it.
package struct StoreTransaction: Sendable, Hashable {
    package struct Revocation: Sendable, Hashable {
        package enum Kind: String, Sendable {
            case refund = "REFUND_FULL"
            case family = "FAMILY_REVOKE"
        }

        package var date: Timestamp
        package var kind: Kind
        /// Apple's `revocationReason`: 1 an issue with the app, 0 anything else.
        package var reason: Int64
    }

    package enum Ownership: String, Sendable {
        case purchased = "PURCHASED"
        case familyShared = "FAMILY_SHARED"
    }

    package enum Reason: String, Sendable {
        case purchase = "PURCHASE"
        case renewal = "RENEWAL"
    }

    package let id: String
    package let originalID: String
    package let lineItemID: String?
    /// Whose it is in the simulator; Apple's payload says it only where `accountToken` does.
    package let account: String
    /// Absent for a family member, who bought nothing.
    package internal(set) var accountToken: String?
    package let appTransactionID: String
    package let product: StoreProduct
    package let purchaseDate: Timestamp
    package let originalPurchaseDate: Timestamp
    package var expiresDate: Timestamp?
    package let quantity: Int64
    package let ownership: Ownership
    package let reason: Reason
    package let price: Int64
    package let offer: StoreOffer?
    package var isUpgraded = false
    package var revocation: Revocation?
    package internal(set) var seats: SeatPurchase?
    /// The app, or its server, has said that it delivered what was bought.
    package internal(set) var isFinished = false
    /// Grows with every change of any transaction.
    package internal(set) var change: UInt64 = 0

    /// JWSTransactionDecodedPayload.
    func payload(signedAt signedDate: Timestamp, in settings: StoreSettings, _ storefront: Storefront) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 1024)
        json.beginObject()
        json.member("transactionId", id)
        json.member("originalTransactionId", originalID)
        if let lineItemID { json.member("webOrderLineItemId", lineItemID) }
        json.member("bundleId", settings.bundleID)
        json.member("productId", product.id)
        if let group = product.group { json.member("subscriptionGroupIdentifier", group) }
        json.member("purchaseDate", purchaseDate.milliseconds)
        json.member("originalPurchaseDate", originalPurchaseDate.milliseconds)
        if let expiresDate { json.member("expiresDate", expiresDate.milliseconds) }
        json.member("quantity", quantity)
        json.member("type", product.appleType)
        if let accountToken { json.member("appAccountToken", accountToken) }
        json.member("inAppOwnershipType", ownership.rawValue)
        json.member("signedDate", signedDate.milliseconds)
        if let revocation {
            json.member("revocationReason", revocation.reason)
            json.member("revocationDate", revocation.date.milliseconds)
            json.member("revocationType", revocation.kind.rawValue)
            if revocation.kind == .refund { json.member("revocationPercentage", 100_000) }
        }
        if isUpgraded { json.member("isUpgraded", true) }
        if let offer { offer.write(to: &json) }
        json.member("environment", settings.environment.rawValue)
        json.member("transactionReason", reason.rawValue)
        json.member("storefront", storefront.code)
        json.member("storefrontId", storefront.id)
        json.member("price", price)
        json.member("currency", storefront.currency)
        json.member("appTransactionId", appTransactionID)
        seats?.write(to: &json, price: price)
        json.endObject()
        return json.bytes
    }
}

extension StoreOffer {
    func write(to json: inout JSONWriter) {
        json.member("offerType", type.rawValue)
        if let id { json.member("offerIdentifier", id) }
        json.member("offerDiscountType", mode.rawValue)
        json.member("offerPeriod", period.description)
    }
}

/// A country's store.
struct Storefront: Sendable, Hashable {
    let code: String
    let id: String
    let currency: String

    /// Unknown countries are taken for the United States' store under their own name.
    init(code: String) {
        let known = Self.known[code] ?? ("143441", "USD")
        self.code = code
        id = known.0
        currency = known.1
    }

    private static let known = [
        "USA": ("143441", "USD"), "DEU": ("143443", "EUR"), "FRA": ("143442", "EUR"), "GBR": ("143444", "GBP"),
        "JPN": ("143462", "JPY"),
    ]
}
