internal import AppStore
internal import HTTP
internal import JSON
internal import Time

/// Which transactions Get Transaction History is asked for.
struct TransactionFilter {
    let offset: Int
    private let start: Int64
    private let end: Int64
    private let productIDs: Set<String>
    private let productTypes: Set<String>
    private let groups: Set<String>
    private let ownership: String?
    private let isRevoked: Bool?
    private let isDescending: Bool

    private static let types = [
        "AUTO_RENEWABLE": "Auto-Renewable Subscription", "NON_RENEWABLE": "Non-Renewing Subscription",
        "CONSUMABLE": "Consumable", "NON_CONSUMABLE": "Non-Consumable",
    ]

    init(_ head: HTTPRequestHead) throws(APIError) {
        func values(_ name: String) -> Set<String> { Set(head.queryValues(name).compactMap { $0 }) }
        offset = try head.queryValue("revision").map { (text) throws(APIError) in try Self.offset(text) } ?? 0
        start = try Self.date(head, "startDate", .invalidStartDate) ?? .min
        end = try Self.date(head, "endDate", .invalidEndDate) ?? .max
        guard start <= end else { throw .startAfterEnd }
        productIDs = values("productId")
        groups = values("subscriptionGroupIdentifier")
        var types: Set<String> = []
        for name in values("productType") {
            guard let type = Self.types[name] else { throw .invalidProductType }
            types.insert(type)
        }
        productTypes = types
        ownership = head.queryValue("inAppOwnershipType")
        guard ownership == nil || ownership == "PURCHASED" || ownership == "FAMILY_SHARED" else {
            throw .invalidOwnership
        }
        switch head.queryValue("revoked") {
        case nil: isRevoked = nil
        case "true": isRevoked = true
        case "false": isRevoked = false
        default: throw .invalidRevoked
        }
        switch head.queryValue("sort") {
        case nil, "ASCENDING": isDescending = false
        case "DESCENDING": isDescending = true
        default: throw .invalidSort
        }
    }

    func apply(to transactions: [StoreTransaction]) -> [StoreTransaction] {
        let matching = transactions.filter { transaction in
            (productIDs.isEmpty || productIDs.contains(transaction.product.id))
                && (productTypes.isEmpty || productTypes.contains(transaction.product.appleType))
                && (groups.isEmpty || transaction.product.group.map { groups.contains($0) } ?? false)
                && (ownership == nil || transaction.ownership.rawValue == ownership)
                && (isRevoked == nil || (transaction.revocation != nil) == isRevoked)
                && (start...end).contains(transaction.purchaseDate.milliseconds)
        }
        return isDescending ? matching.reversed() : matching
    }

    /// Apple's revisions say nothing to their readers either.
    static func revision(_ offset: Int) -> String { Base64URL.encode(Array("revision:\(offset)".utf8)) }

    private static func offset(_ revision: String) throws(APIError) -> Int {
        guard let bytes = Base64URL.decode(revision), let text = String(validating: bytes, as: UTF8.self),
            text.hasPrefix("revision:"), let offset = Int(text.dropFirst(9)), offset >= 0
        else { throw .invalidRevision }
        return offset
    }

    private static func date(_ head: HTTPRequestHead, _ name: String, _ error: APIError) throws(APIError) -> Int64? {
        guard let text = head.queryValue(name) else { return nil }
        guard let date = Int64(text) else { throw error }
        return date
    }
}

/// Which notifications Get Notification History is asked for.
struct NotificationFilter {
    /// The sequence number of the last one that was told.
    let after: UInt64
    let transactionID: String?
    private let start: Int64
    private let end: Int64
    private let type: String?
    private let subtype: String?
    private let onlyFailures: Bool

    init(_ request: HTTPRequest, at now: Timestamp, _ environment: StoreSettings.Environment) throws(APIError) {
        let body: JSONValue
        do { body = try JSONValue.parse(request.body) } catch { throw .badRequest }
        guard let start = body["startDate"]?.int64 else { throw .invalidStartDate }
        guard let end = body["endDate"]?.int64 else { throw .invalidEndDate }
        guard start <= end else { throw .startAfterEnd }
        let days: Int64 = environment == .production ? 180 : 30
        guard start >= (now - .seconds(days * 86_400)).milliseconds else { throw .startTooFarInPast }
        self.start = start
        self.end = end
        type = try Self.text(body, "notificationType", .invalidNotificationType)
        subtype = try Self.text(body, "notificationSubtype", .invalidNotificationType)
        guard subtype == nil || type != nil else { throw .invalidNotificationType }
        transactionID = try Self.text(body, "transactionId", .invalidTransactionID)
        guard transactionID == nil || type == nil else { throw .multipleFilters }
        onlyFailures = body["onlyFailures"]?.bool ?? false
        after =
            try request.head.queryValue("paginationToken").map { (text) throws(APIError) in
                try Self.sequence(text)
            } ?? 0
    }

    func matches(_ entry: Outbox.Entry, account: String?) -> Bool {
        let notification = entry.notification
        return (start...end).contains(notification.signedDate.milliseconds)
            && (type == nil || notification.type == type) && (subtype == nil || notification.subtype == subtype)
            && (account == nil || notification.account == account)
            && (!onlyFailures || entry.attempts.contains { $0.result != .success } && entry.state != .delivered)
            && !entry.attempts.isEmpty
    }

    static func token(after sequence: UInt64) -> String { Base64URL.encode(Array("after:\(sequence)".utf8)) }

    private static func sequence(_ token: String) throws(APIError) -> UInt64 {
        guard let bytes = Base64URL.decode(token), let text = String(validating: bytes, as: UTF8.self),
            text.hasPrefix("after:"), let sequence = UInt64(text.dropFirst(6)), sequence < .max
        else { throw .invalidPaginationToken }
        return sequence
    }

    private static func text(_ body: JSONValue, _ key: String, _ error: APIError) throws(APIError) -> String? {
        guard let value = body[key], !value.isNull else { return nil }
        guard let text = value.string else { throw error }
        return text
    }
}
