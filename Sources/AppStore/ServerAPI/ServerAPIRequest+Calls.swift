package import Time

/// Which transactions Get Transaction History answers with; nothing set is all of them, oldest first.
package struct TransactionHistoryFilter: Sendable, Hashable {
    package enum ProductType: String, Sendable, CaseIterable {
        case autoRenewable = "AUTO_RENEWABLE"
        case nonRenewable = "NON_RENEWABLE"
        case consumable = "CONSUMABLE"
        case nonConsumable = "NON_CONSUMABLE"
    }
    package enum Sort: String, Sendable { case ascending = "ASCENDING", descending = "DESCENDING" }
    package enum Ownership: String, Sendable {
        case purchased = "PURCHASED"
        case familyShared = "FAMILY_SHARED"
        case assigned = "ASSIGNED"
    }

    package var startDate: Timestamp?
    package var endDate: Timestamp?
    package var productIDs: [String] = []
    package var productTypes: [ProductType] = []
    package var sort: Sort?
    package var subscriptionGroups: [String] = []
    package var ownership: Ownership?
    package var revoked: Bool?

    package init() {}

    var values: [ServerAPIRequest.Value] {
        var values: [ServerAPIRequest.Value] = []
        values.add("startDate", startDate?.milliseconds)
        values.add("endDate", endDate?.milliseconds)
        for id in productIDs { values.add("productId", id) }
        for type in productTypes { values.add("productType", type.rawValue) }
        values.add("sort", sort?.rawValue)
        for group in subscriptionGroups { values.add("subscriptionGroupIdentifier", group) }
        values.add("inAppOwnershipType", ownership?.rawValue)
        values.add("revoked", revoked)
        return values
    }
}

/// Which notifications Get Notification History answers with.
package struct NotificationHistoryFilter: Sendable, Hashable {
    package var startDate: Timestamp
    package var endDate: Timestamp
    /// Apple's own words, so that one this version does not know can be asked for.
    package var notificationType: String?
    package var notificationSubtype: String?
    package var transactionID: String?
    package var onlyFailures: Bool?

    package init(from startDate: Timestamp, to endDate: Timestamp) {
        self.startDate = startDate
        self.endDate = endDate
    }

    var values: [ServerAPIRequest.Value] {
        var values: [ServerAPIRequest.Value] = []
        values.add("startDate", startDate.milliseconds)
        values.add("endDate", endDate.milliseconds)
        values.add("notificationType", notificationType)
        values.add("notificationSubtype", notificationSubtype)
        values.add("transactionId", transactionID)
        values.add("onlyFailures", onlyFailures)
        return values
    }
}

/// By how much, why, and under which name a renewal date is extended.
package struct RenewalExtension: Sendable, Hashable {
    package enum Reason: Int, Sendable, CaseIterable { case undeclared, customerSatisfaction, other, serviceIssue }

    /// 1 to 90.
    package var days: Int
    package var reason: Reason
    /// The caller's own, to ask by; 1 to 128 bytes.
    package var requestIdentifier: String

    package init(days: Int, reason: Reason, requestIdentifier: String) {
        self.days = days
        self.reason = reason
        self.requestIdentifier = requestIdentifier
    }

    var values: [ServerAPIRequest.Value] {
        var values: [ServerAPIRequest.Value] = []
        values.add("extendByDays", days)
        values.add("extendReasonCode", reason.rawValue)
        values.add("requestIdentifier", requestIdentifier)
        return values
    }
}
