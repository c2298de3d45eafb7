internal import JSON
package import Time

/// One of the things that an Advanced Commerce transaction paid for.
package struct AdvancedCommerceTransactionItem: Sendable, Hashable, PayloadObject {
    package var sku: String?
    package var description: String?
    package var displayName: String?
    package var offer: AdvancedCommerceOffer?
    /// Milliunits.
    package var price: Int64?
    package var refunds: [AdvancedCommerceRefund] = []
    package var revocationDate: Timestamp?

    enum Member: String, CaseIterable {
        case sku = "SKU"
        case description, displayName, offer, price, refunds, revocationDate
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .sku: sku = try fields.string(&json)
        case .description: description = try fields.string(&json)
        case .displayName: displayName = try fields.string(&json)
        case .offer: offer = try fields.object(&json)
        case .price: price = try fields.money(&json)
        case .refunds: refunds = try fields.objects(&json)
        case .revocationDate: revocationDate = try fields.date(&json)
        }
    }
}

package struct AdvancedCommerceRefund: Sendable, Hashable, PayloadObject {
    /// Milliunits.
    package var amount: Int64?
    package var date: Timestamp?
    package var reason: Raw<AdvancedCommerceRefundReason>?
    package var type: Raw<AdvancedCommerceRefundType>?

    enum Member: String, CaseIterable { case refundAmount, refundDate, refundReason, refundType }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .refundAmount: amount = try fields.money(&json)
        case .refundDate: date = try fields.date(&json)
        case .refundReason: reason = try fields.value(&json)
        case .refundType: type = try fields.value(&json)
        }
    }
}

/// One of the things that an Advanced Commerce subscription will renew.
package struct AdvancedCommerceRenewalItem: Sendable, Hashable, PayloadObject {
    package var sku: String?
    package var description: String?
    package var displayName: String?
    package var offer: AdvancedCommerceOffer?
    /// Milliunits.
    package var price: Int64?
    package var priceIncreaseInfo: AdvancedCommercePriceIncreaseInfo?

    enum Member: String, CaseIterable {
        case sku = "SKU"
        case description, displayName, offer, price, priceIncreaseInfo
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .sku: sku = try fields.string(&json)
        case .description: description = try fields.string(&json)
        case .displayName: displayName = try fields.string(&json)
        case .offer: offer = try fields.object(&json)
        case .price: price = try fields.money(&json)
        case .priceIncreaseInfo: priceIncreaseInfo = try fields.object(&json)
        }
    }
}

package struct AdvancedCommercePriceIncreaseInfo: Sendable, Hashable, PayloadObject {
    package var dependentSKUs: [String] = []
    /// Milliunits.
    package var price: Int64?
    package var status: Raw<AdvancedCommercePriceIncreaseStatus>?

    enum Member: String, CaseIterable { case dependentSKUs, price, status }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .dependentSKUs: dependentSKUs = try fields.strings(&json)
        case .price: price = try fields.money(&json)
        case .status: status = try fields.value(&json)
        }
    }
}
