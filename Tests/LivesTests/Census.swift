/// What lives contained: an empty trial proves nothing.
struct Census: Sendable {
    private(set) var counts: [String: Int] = [:]

    mutating func count(_ name: String, _ number: Int = 1) { counts[name, default: 0] += number }

    mutating func add(_ other: Census) { counts.merge(other.counts) { $0 + $1 } }

    /// What a whole run must have seen.
    var missing: [String] { Self.required.filter { counts[$0] == nil }.sorted() }

    /// One line each, by name.
    var table: String {
        counts.sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)" }.joined(separator: "\n")
    }

    private static let required: Set<String> = Set(notifications + states + deeds + journeys)

    private static let notifications = [
        "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/RESUBSCRIBE", "DID_RENEW", "DID_RENEW/BILLING_RECOVERY",
        "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_PREF/UPGRADE", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE",
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
        "DID_FAIL_TO_RENEW", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED", "EXPIRED/VOLUNTARY",
        "EXPIRED/BILLING_RETRY", "EXPIRED/PRICE_INCREASE", "OFFER_REDEEMED", "ONE_TIME_CHARGE", "REFUND",
        "REFUND/SEATS", "REFUND_REVERSED", "REFUND_DECLINED", "CONSUMPTION_REQUEST", "REVOKE", "RENEWAL_EXTENDED",
        "PRICE_INCREASE/PENDING", "PRICE_INCREASE/ACCEPTED", "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY",
        "DID_CHANGE_RENEWAL_PREF/DECREASE_QUANTITY",
    ].map { "notified: \($0)" }

    private static let states = [
        "active", "canceled", "gracePeriod", "billingRetry", "expired", "revoked", "hold", "upgrade ahead",
        "downgrade ahead", "crossgrade ahead", "change of unknown kind ahead", "trial", "offer", "offer ahead",
        "price not agreed", "price agreed", "family", "several seats", "no duration", "unmapped product",
        "entitlement by several", "entitlement lost",
    ].map { "seen: \($0)" }

    private static let deeds = [
        "refund of an older period", "refund of the current period", "refund with the next period charged early",
        "refund of an upgraded period", "crossgrade at once", "upgrade at once", "map published",
        "one id in both environments", "more periods than a record keeps",
    ].map { "lived: \($0)" }

    private static let journeys = [
        "repeated", "late", "lost", "answered by status", "answered by history", "equal dates",
        "equal dates, one a refund",
        "to the wrong environment", "signed for real", "permutations", "answers held against the past",
        "answers held against silence", "instants on either side of a change",
    ].map { "delivered: \($0)" }
}
