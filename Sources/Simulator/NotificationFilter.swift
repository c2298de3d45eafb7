internal import AppStore
internal import HTTP
internal import JSON
internal import Time

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
    private let bodyDigest: String

    init(_ request: HTTPRequest, at now: Timestamp, _ environment: StoreSettings.Environment) throws(APIError) {
        let body = try request.apiBody()
        guard let start = body["startDate"]?.int64 else { throw .invalidStartDate }
        guard let end = body["endDate"]?.int64 else { throw .invalidEndDate }
        guard start < end else { throw .startAfterEnd }
        let days: Int64 = environment == .production ? 180 : 30
        guard start >= (now - .seconds(days * 86_400)).milliseconds else { throw .startTooFarInPast }
        self.start = start
        self.end = end
        type = try Self.text(body, "notificationType", .invalidNotificationType)
        subtype = try Self.text(body, "notificationSubtype", .invalidNotificationType)
        guard type.map({ Self.types.contains($0) }) ?? (subtype == nil) else { throw .invalidNotificationType }
        guard subtype.map({ Self.subtypes.contains($0) }) ?? true else { throw .invalidNotificationType }
        transactionID = try Self.text(body, "transactionId", .invalidTransactionID)
        guard transactionID == nil || type == nil else { throw .multipleFilters }
        switch body["onlyFailures"] {
        case nil, .null: onlyFailures = false
        case .bool(let only): onlyFailures = only
        default: throw .badRequest
        }
        bodyDigest = String(SHA256.hexadecimal(request.body).prefix(16))
        after = try Self.sequence(request.head, bodyDigest, at: now)
    }

    func matches(_ entry: Outbox.Entry, account: String?) -> Bool {
        let notification = entry.notification
        return (start...end).contains(notification.signedDate.milliseconds)
            && (type == nil || notification.type == type) && (subtype == nil || notification.subtype == subtype)
            && (account == nil || notification.account == account) && (!onlyFailures || entry.state != .delivered)
            && !entry.attempts.isEmpty
    }

    // MARK: Pages

    /// How long a token is good.
    static let tokenLife: Duration = .seconds(3600)

    /// Asks for what follows `sequence`; belongs to this request's body.
    func token(after sequence: UInt64, at now: Timestamp) -> String {
        Base64URL.encode(Array("\(sequence):\(now.milliseconds):\(bodyDigest)".utf8))
    }

    private static func sequence(
        _ head: HTTPRequestHead, _ bodyDigest: String, at now: Timestamp
    ) throws(APIError) -> UInt64 {
        guard !head.queryValues("paginationToken").isEmpty else { return 0 }
        guard let token = head.queryValue("paginationToken"), let bytes = Base64URL.decode(token),
            let text = String(validating: bytes, as: UTF8.self)
        else { throw .invalidPaginationToken }
        let parts = text.split(separator: ":")
        guard parts.count == 3, let sequence = UInt64(parts[0]), sequence < .max, let issued = Int64(parts[1]),
            parts[2] == bodyDigest
        else { throw .invalidPaginationToken }
        guard now - Timestamp(milliseconds: issued) <= tokenLife else { throw .paginationTokenExpired }
        return sequence
    }

    private static func text(_ body: JSONValue, _ key: String, _ error: APIError) throws(APIError) -> String? {
        guard let value = body[key], !value.isNull else { return nil }
        guard let text = value.string else { throw error }
        return text
    }

    private static let types: Set<String> = [
        "SUBSCRIBED", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "OFFER_REDEEMED", "DID_RENEW", "EXPIRED",
        "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED",
        "CONSUMPTION_REQUEST", "RENEWAL_EXTENDED", "REVOKE", "TEST", "RENEWAL_EXTENSION", "REFUND_REVERSED",
        "EXTERNAL_PURCHASE_TOKEN", "ONE_TIME_CHARGE", "RESCIND_CONSENT", "METADATA_UPDATE", "MIGRATION", "MIGRATE",
        "PRICE_CHANGE", "UNCLAIM_SEATS",
    ]
    private static let subtypes: Set<String> = [
        "INITIAL_BUY", "RESUBSCRIBE", "DOWNGRADE", "UPGRADE", "AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED", "VOLUNTARY",
        "BILLING_RETRY", "PRICE_INCREASE", "GRACE_PERIOD", "PENDING", "ACCEPTED", "BILLING_RECOVERY",
        "PRODUCT_NOT_FOR_SALE", "SUMMARY", "FAILURE", "UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER",
        "INCREASE_QUANTITY", "DECREASE_QUANTITY", "SEATS",
    ]
}

extension HTTPRequest {
    /// The body as a JSON object.
    func apiBody() throws(APIError) -> JSONValue {
        let value: JSONValue
        do { value = try JSONValue.parse(body) } catch { throw .badRequest }
        guard value.object != nil else { throw .badRequest }
        return value
    }
}
