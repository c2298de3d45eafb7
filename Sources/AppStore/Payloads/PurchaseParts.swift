internal import JSON
package import Time

/// `commitmentInfo` of a transaction: a subscription that is paid in parts for a fixed time.
package struct TransactionCommitmentInfo: Sendable, Hashable, PayloadObject {
    package var billingPeriodNumber: Int32?
    package var totalBillingPeriods: Int32?
    package var expiresDate: Timestamp?
    /// Milliunits of the transaction's currency.
    package var price: Int64?

    enum Member: String, CaseIterable {
        case billingPeriodNumber, totalBillingPeriods, commitmentExpiresDate, commitmentPrice
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .billingPeriodNumber: billingPeriodNumber = try fields.int32(&json)
        case .totalBillingPeriods: totalBillingPeriods = try fields.int32(&json)
        case .commitmentExpiresDate: expiresDate = try fields.date(&json)
        case .commitmentPrice: price = try fields.money(&json)
        }
    }
}

/// `commitmentInfo` of renewal information: what follows when the committed time is over.
package struct RenewalCommitmentInfo: Sendable, Hashable, PayloadObject {
    package var autoRenewProductID: String?
    package var autoRenewStatus: Raw<AutoRenewStatus>?
    package var renewalBillingPlanType: Raw<BillingPlanType>?
    package var renewalDate: Timestamp?
    /// Milliunits of the renewal's currency.
    package var renewalPrice: Int64?

    enum Member: String, CaseIterable {
        case commitmentAutoRenewProductId, commitmentAutoRenewStatus, commitmentRenewalBillingPlanType
        case commitmentRenewalDate, commitmentRenewalPrice
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .commitmentAutoRenewProductId: autoRenewProductID = try fields.string(&json)
        case .commitmentAutoRenewStatus: autoRenewStatus = try fields.value(&json)
        case .commitmentRenewalBillingPlanType: renewalBillingPlanType = try fields.value(&json)
        case .commitmentRenewalDate: renewalDate = try fields.date(&json)
        case .commitmentRenewalPrice: renewalPrice = try fields.money(&json)
        }
    }
}

/// `multiSeatInfo` of a transaction: several seats in one purchase.
package struct TransactionMultiSeatInfo: Sendable, Hashable, PayloadObject {
    package var priceTiers: [PriceTier] = []
    /// How many of the seats were refunded.
    package var revokedSeatQuantity: Int32?

    enum Member: String, CaseIterable { case priceTiers, revokedSeatQuantity }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .priceTiers: priceTiers = try fields.objects(&json)
        case .revokedSeatQuantity: revokedSeatQuantity = try fields.int32(&json)
        }
    }
}

/// `multiSeatInfo` of renewal information.
package struct RenewalMultiSeatInfo: Sendable, Hashable, PayloadObject {
    package var renewalPriceTiers: [PriceTier] = []

    enum Member: String, CaseIterable { case renewalPriceTiers }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .renewalPriceTiers: renewalPriceTiers = try fields.objects(&json)
        }
    }
}

/// So many seats at one price each.
package struct PriceTier: Sendable, Hashable, PayloadObject {
    /// Milliunits.
    package var price: Int64?
    package var quantity: Int32?

    enum Member: String, CaseIterable { case price, quantity }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .price: price = try fields.money(&json)
        case .quantity: quantity = try fields.int32(&json)
        }
    }
}

/// The bundle that a subscription belongs to (StoreKit 27). Which payload carries which of these is not published, so
/// that transactions and renewal information are searched for all of them.
package struct BundleMembership: Sendable, Hashable {
    package var productID: String?
    package var transactionID: String?
    package var originalTransactionID: String?
    package var subscriptionGroupID: String?
    package var willUnbundle: Bool?
}
