internal import JSON

/// `advancedCommerceInfo` of a transaction.
package struct TransactionAdvancedCommerceInfo: Sendable, Hashable, PayloadObject {
    package var descriptors: AdvancedCommerceDescriptors?
    package var items: [AdvancedCommerceTransactionItem] = []
    package var period: Raw<AdvancedCommercePeriod>?
    package var requestReferenceID: String?
    package var taxCode: String?
    /// A decimal fraction as text, such as `0.15`.
    package var taxRate: String?
    /// Milliunits.
    package var estimatedTax: Int64?
    /// Milliunits.
    package var taxExclusivePrice: Int64?

    enum Member: String, CaseIterable {
        case descriptors, items, period, requestReferenceId, taxCode, taxRate, estimatedTax, taxExclusivePrice
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .descriptors: descriptors = try fields.object(&json)
        case .items: items = try fields.objects(&json)
        case .period: period = try fields.value(&json)
        case .requestReferenceId: requestReferenceID = try fields.string(&json)
        case .taxCode: taxCode = try fields.string(&json)
        case .taxRate: taxRate = try fields.string(&json)
        case .estimatedTax: estimatedTax = try fields.money(&json)
        case .taxExclusivePrice: taxExclusivePrice = try fields.money(&json)
        }
    }
}

/// `advancedCommerceInfo` of renewal information.
package struct RenewalAdvancedCommerceInfo: Sendable, Hashable, PayloadObject {
    package var consistencyToken: String?
    package var descriptors: AdvancedCommerceDescriptors?
    package var items: [AdvancedCommerceRenewalItem] = []
    package var period: Raw<AdvancedCommercePeriod>?
    package var requestReferenceID: String?
    package var taxCode: String?

    enum Member: String, CaseIterable {
        case consistencyToken, descriptors, items, period, requestReferenceId, taxCode
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .consistencyToken: consistencyToken = try fields.string(&json)
        case .descriptors: descriptors = try fields.object(&json)
        case .items: items = try fields.objects(&json)
        case .period: period = try fields.value(&json)
        case .requestReferenceId: requestReferenceID = try fields.string(&json)
        case .taxCode: taxCode = try fields.string(&json)
        }
    }
}

package struct AdvancedCommerceDescriptors: Sendable, Hashable, PayloadObject {
    package var description: String?
    package var displayName: String?

    enum Member: String, CaseIterable { case description, displayName }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .description: description = try fields.string(&json)
        case .displayName: displayName = try fields.string(&json)
        }
    }
}

package struct AdvancedCommerceOffer: Sendable, Hashable, PayloadObject {
    package var period: Raw<AdvancedCommerceOfferPeriod>?
    package var periodCount: Int32?
    /// Milliunits.
    package var price: Int64?
    package var reason: Raw<AdvancedCommerceOfferReason>?

    enum Member: String, CaseIterable { case period, periodCount, price, reason }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .period: period = try fields.value(&json)
        case .periodCount: periodCount = try fields.int32(&json)
        case .price: price = try fields.money(&json)
        case .reason: reason = try fields.value(&json)
        }
    }
}
