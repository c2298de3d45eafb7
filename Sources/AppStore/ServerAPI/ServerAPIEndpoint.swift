/// Every endpoint of the App Store Server API that Holdfast calls, as one table: what it is called here and at a
/// terminal, method, path, parameters, and which of Apple's rate limits it counts against.
///
/// Left out are retention messaging and its performance tests.
package enum ServerAPIEndpoint: String, Sendable, Hashable, CaseIterable {
    case massExtend = "mass-extend"
    case massExtendStatus = "mass-extend-status"
    case extend
    case statuses
    case historyV1 = "history-v1"
    case history
    case transaction
    case finish
    case appTransaction = "app-transaction"
    case setAccountToken = "set-account-token"
    case consumptionV1 = "consumption-v1"
    case consumption
    case order
    case refunds
    case testNotification = "test-notification"
    case testNotificationStatus = "test-notification-status"
    case notifications
    case groups
    case groupMembers = "group-members"
    case claimSeat = "claim-seat"
    case seats
    case releaseSeat = "release-seat"
    case associateSeat = "associate-seat"

    /// The name at a terminal.
    package var name: String { rawValue }
    package var method: Method { row.method }
    /// With `{parameter}` where a path parameter stands.
    package var path: String { row.path }
    package var group: CallGroup { row.group }
    package var fields: [ServerAPIField] { row.fields }
    package var summary: String { row.summary }
    /// What Apple documents for the sandbox only, so far.
    package var isSandboxOnly: Bool { path.hasPrefix("/groups/") }
    /// Where the next page's position goes; nil when there is only one page.
    package var pageKey: String? { row.pageKey }

    package enum Method: String, Sendable { case get = "GET", post = "POST", put = "PUT", delete = "DELETE" }

    private struct Row {
        let method: Method
        let path: String
        let group: CallGroup
        let summary: String
        var fields: [ServerAPIField] = []
        var pageKey: String?
    }

    private static let transactionID = ServerAPIField.path("transactionId", .text(maximumBytes: 64))
    private static let originalTransactionID = ServerAPIField.path("originalTransactionId", .text(maximumBytes: 64))

    private static let extensionFields: [ServerAPIField] = [
        .required("extendByDays", .integer(1...90)), .required("extendReasonCode", .integer(0...3)),
        .required("requestIdentifier", .requestIdentifier),
    ]

    private static let historyFields: [ServerAPIField] = [
        transactionID, .query("startDate", .date), .query("endDate", .date),
        .query("productId", .text(maximumBytes: 255), repeats: true),
        .query(
            "productType", .choice(["AUTO_RENEWABLE", "NON_RENEWABLE", "CONSUMABLE", "NON_CONSUMABLE"]), repeats: true),
        .query("sort", .choice(["ASCENDING", "DESCENDING"])),
        .query("subscriptionGroupIdentifier", .text(maximumBytes: 64), repeats: true),
        .query("inAppOwnershipType", .choice(["PURCHASED", "FAMILY_SHARED", "ASSIGNED"])), .query("revoked", .boolean),
        .query("revision", .text(maximumBytes: 4096)),
    ]

    private static let table: [ServerAPIEndpoint: Row] = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0, $0.makeRow()) })

    private var row: Row { Self.table[self] ?? makeRow() }

    private func makeRow() -> Row {
        switch self {
        case .massExtend:
            Row(
                method: .post, path: "/inApps/v1/subscriptions/extend/mass", group: .rare,
                summary: "extends the renewal date of all subscribers of a product",
                fields: Self.extensionFields + [
                    .required("productId", .text(maximumBytes: 255)),
                    .body("storefrontCountryCodes", .text(maximumBytes: 3), repeats: true),
                ])
        case .massExtendStatus:
            Row(
                method: .get, path: "/inApps/v1/subscriptions/extend/mass/{productId}/{requestIdentifier}",
                group: .rare, summary: "how far such an extension is",
                fields: [.path("productId"), .path("requestIdentifier", .requestIdentifier)])
        case .extend:
            Row(
                method: .put, path: "/inApps/v1/subscriptions/extend/{originalTransactionId}", group: .moderate,
                summary: "extends one subscription's renewal date",
                fields: [Self.originalTransactionID] + Self.extensionFields)
        case .statuses:
            Row(
                method: .get, path: "/inApps/v1/subscriptions/{transactionId}", group: .frequent,
                summary: "the statuses of all of a customer's subscriptions",
                fields: [Self.transactionID, .query("status", .integer(1...5), repeats: true)])
        case .historyV1:
            Row(
                method: .get, path: "/inApps/v1/history/{transactionId}", group: .frequent,
                summary: "a customer's transactions, by the older version", fields: Self.historyFields,
                pageKey: "revision")
        case .history:
            Row(
                method: .get, path: "/inApps/v2/history/{transactionId}", group: .frequent,
                summary: "a customer's transactions, finished consumables and revoked ones included",
                fields: Self.historyFields, pageKey: "revision")
        case .transaction:
            Row(
                method: .get, path: "/inApps/v1/transactions/{transactionId}", group: .frequent,
                summary: "one transaction", fields: [Self.transactionID])
        case .finish:
            Row(
                method: .post, path: "/inApps/v1/transactions/{transactionId}/finish", group: .frequent,
                summary: "marks a transaction as finished", fields: [Self.transactionID])
        case .appTransaction:
            Row(
                method: .get, path: "/inApps/v1/transactions/appTransactions/{transactionId}", group: .frequent,
                summary: "the app transaction of a customer", fields: [Self.transactionID])
        case .setAccountToken:
            Row(
                method: .put, path: "/inApps/v1/transactions/{originalTransactionId}/appAccountToken",
                group: .moderate, summary: "sets the appAccountToken of a purchase",
                fields: [Self.originalTransactionID, .required("appAccountToken", .uuid)])
        case .consumptionV1:
            Row(
                method: .put, path: "/inApps/v1/transactions/consumption/{transactionId}", group: .frequent,
                summary: "says how a refunded purchase was used, by the older version",
                fields: [
                    Self.transactionID, .required("customerConsented", .boolean),
                    .required("appAccountToken", .uuidOrEmpty), .body("sampleContentProvided", .boolean),
                    .body("accountTenure", .integer(0...7)), .body("consumptionStatus", .integer(0...3)),
                    .body("deliveryStatus", .integer(0...5)), .body("lifetimeDollarsPurchased", .integer(0...7)),
                    .body("lifetimeDollarsRefunded", .integer(0...7)), .body("platform", .integer(0...2)),
                    .body("playTime", .integer(0...7)), .body("refundPreference", .integer(0...3)),
                    .body("userStatus", .integer(0...4)),
                ])
        case .consumption:
            Row(
                method: .put, path: "/inApps/v2/transactions/consumption/{transactionId}", group: .frequent,
                summary: "says how a purchase was used that a refund is asked for",
                fields: [
                    Self.transactionID, .required("customerConsented", .boolean),
                    .required("sampleContentProvided", .boolean),
                    .required("deliveryStatus", .choice(ConsumptionRequest.DeliveryStatus.allCases.map(\.rawValue))),
                    .body("consumptionPercentage", .integer(0...100_000)),
                    .body("refundPreference", .choice(ConsumptionRequest.RefundPreference.allCases.map(\.rawValue))),
                ])
        case .order:
            Row(
                method: .get, path: "/inApps/v1/lookup/{orderId}", group: .scarce,
                summary: "the transactions of an order number from a customer's receipt mail",
                fields: [.path("orderId", .text(maximumBytes: 64))])
        case .refunds:
            Row(
                method: .get, path: "/inApps/v2/refund/lookup/{transactionId}", group: .scarce,
                summary: "a customer's refunded transactions",
                fields: [Self.transactionID, .query("revision", .text(maximumBytes: 4096))], pageKey: "revision")
        case .testNotification:
            Row(
                method: .post, path: "/inApps/v1/notifications/test", group: .rare,
                summary: "asks Apple to send a test notification")
        case .testNotificationStatus:
            Row(
                method: .get, path: "/inApps/v1/notifications/test/{testNotificationToken}", group: .rare,
                summary: "how sending it went", fields: [.path("testNotificationToken")])
        case .notifications:
            Row(
                method: .post, path: "/inApps/v1/notifications/history", group: .frequent,
                summary: "the notifications of the last 180 days, and how sending them went",
                fields: [
                    .query("paginationToken", .text(maximumBytes: 4096)), .required("startDate", .date),
                    .required("endDate", .date), .body("notificationType", .text(maximumBytes: 64)),
                    .body("notificationSubtype", .text(maximumBytes: 64)),
                    .body("transactionId", .text(maximumBytes: 64)), .body("onlyFailures", .boolean),
                ], pageKey: "paginationToken")
        case .groups:
            Row(
                method: .get, path: "/groups/v1/currentGroups/{transactionId}", group: .scarce,
                summary: "the groups that a multiseat purchase belongs to", fields: [Self.transactionID])
        case .groupMembers:
            Row(
                method: .get, path: "/groups/v1/group/{groupId}", group: .scarce, summary: "who is in a group",
                fields: [
                    .path("groupId", .text(maximumBytes: 64)), .query("limit", .integer(1...100)),
                    .query("paginationToken", .text(maximumBytes: 4096)),
                ], pageKey: "paginationToken")
        case .claimSeat:
            Row(
                method: .post, path: "/groups/v1/transactions/{transactionId}/seats", group: .scarce,
                summary: "claims a seat of a multiseat purchase; the same requestIdentifier claims it once",
                fields: [
                    Self.transactionID, .required("requestIdentifier", .requestIdentifier),
                    .body("appTransactionId", .text(maximumBytes: 64)),
                ])
        case .seats:
            Row(
                method: .get, path: "/groups/v1/transactions/{transactionId}/seats", group: .scarce,
                summary: "how many seats there are and which are claimed", fields: [Self.transactionID])
        case .releaseSeat:
            Row(
                method: .delete, path: "/groups/v1/transactions/{transactionId}/seats/{seatClaimId}", group: .scarce,
                summary: "gives a claimed seat back",
                fields: [Self.transactionID, .path("seatClaimId", .text(maximumBytes: 64))])
        case .associateSeat:
            Row(
                method: .post, path: "/groups/v1/transactions/{transactionId}/seats/{seatClaimId}/associate",
                group: .scarce, summary: "says whose a claimed seat is",
                fields: [
                    Self.transactionID, .path("seatClaimId", .text(maximumBytes: 64)),
                    .required("appTransactionId", .text(maximumBytes: 64)),
                ])
        }
    }
}
