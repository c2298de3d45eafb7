internal import HTTP
internal import Time

/// Which transactions Get Transaction History is asked for.
struct TransactionFilter {
    private let revision: APIRevision?
    private let start: Int64
    private let end: Int64
    private let productIDs: Set<String>
    private let productTypes: Set<String>
    private let groups: Set<String>
    private let ownership: String?
    private let isRevoked: Bool?
    private let isDescending: Bool
    /// Version 1 leaves out consumables that were delivered and not refunded.
    private let omitsUsed: Bool

    private static let types = [
        "AUTO_RENEWABLE": "Auto-Renewable Subscription", "NON_RENEWABLE": "Non-Renewing Subscription",
        "CONSUMABLE": "Consumable", "NON_CONSUMABLE": "Non-Consumable",
    ]

    init(_ head: HTTPRequestHead, version: Int) throws(APIError) {
        omitsUsed = version == 1
        start = try Self.date(head, "startDate", .invalidStartDate) ?? .min
        end = try Self.date(head, "endDate", .invalidEndDate) ?? .max
        guard start <= end else { throw .startAfterEnd }
        productIDs = try Self.values(head, "productId", .invalidProductID)
        groups = try Self.values(head, "subscriptionGroupIdentifier", .invalidGroup)
        var types: Set<String> = []
        for name in try Self.values(head, "productType", .invalidProductType) {
            guard let type = Self.types[name] else { throw .invalidProductType }
            types.insert(type)
        }
        productTypes = types
        ownership = head.queryValue("inAppOwnershipType")
        guard ownership == nil || ownership == "PURCHASED" || ownership == "FAMILY_SHARED" else {
            throw .invalidOwnership
        }
        // The older word for `revoked=false`.
        let excluded = try Self.bool(head, "excludeRevoked", .invalidExcludeRevoked) ?? false
        isRevoked = try Self.bool(head, "revoked", .invalidRevoked) ?? (excluded ? false : nil)
        switch head.queryValue("sort") {
        case nil, "ASCENDING": isDescending = false
        case "DESCENDING": isDescending = true
        default: throw .invalidSort
        }
        revision = try APIRevision(head, isDescending: isDescending)
    }

    /// The next page of what `transactions` hold, oldest change first.
    func page(of transactions: [StoreTransaction]) -> APIPage {
        APIPage(matching(transactions), revision, isDescending)
    }

    private func matching(_ transactions: [StoreTransaction]) -> [StoreTransaction] {
        transactions.filter { transaction in
            (productIDs.isEmpty || productIDs.contains(transaction.product.id))
                && (productTypes.isEmpty || productTypes.contains(transaction.product.appleType))
                && (groups.isEmpty || transaction.product.group.map { groups.contains($0) } ?? false)
                && (ownership == nil || transaction.ownership.rawValue == ownership)
                && (isRevoked == nil || (transaction.revocation != nil) == isRevoked)
                && (start...end).contains(transaction.purchaseDate.milliseconds)
                && !(omitsUsed && transaction.isFinished && transaction.product.kind == .consumable
                    && transaction.revocation == nil)
        }
    }

    private static func values(
        _ head: HTTPRequestHead, _ name: String, _ error: APIError
    ) throws(APIError) -> Set<String> {
        var values: Set<String> = []
        for value in head.queryValues(name) {
            guard let value, !value.isEmpty else { throw error }
            values.insert(value)
        }
        return values
    }

    private static func bool(_ head: HTTPRequestHead, _ name: String, _ error: APIError) throws(APIError) -> Bool? {
        switch head.queryValue(name) {
        case nil where head.queryValues(name).isEmpty: nil
        case "true": true
        case "false": false
        default: throw error
        }
    }

    private static func date(_ head: HTTPRequestHead, _ name: String, _ error: APIError) throws(APIError) -> Int64? {
        guard let text = head.queryValue(name) else { return nil }
        guard let date = Int64(text) else { throw error }
        return date
    }
}
