/// One endpoint of the App Store Server API, and the limit it is under.
package struct ServerAPIRoute: Sendable {
    package enum Endpoint: String, Sendable, CaseIterable {
        case massExtend, massExtendStatus, extend, statuses, historyV1, historyV2, transaction, finish, appTransaction
        case setAccountToken, consumptionV1, consumptionV2, order, refunds, requestTest, testStatus
        case notificationHistory
        case groups, groupMembers, claimSeat, seatInfo, unclaimSeat, associateSeat
    }

    /// Endpoints that share one budget: requests a second in production; the sandbox allows a tenth.
    enum Limit: Int, Sendable, CaseIterable {
        case reading = 50
        case changing = 20
        case lookingUp = 10
        case rare = 1
    }

    let method: String
    /// `{…}` stands for one segment of any content.
    let path: String
    let endpoint: Endpoint
    let limit: Limit
    /// Answered in the sandbox only.
    let isSandboxOnly: Bool
    private let segments: [String]

    private init(
        _ method: String, _ path: String, _ endpoint: Endpoint, _ limit: Limit, isSandboxOnly: Bool = false
    ) {
        self.method = method
        self.path = path
        self.endpoint = endpoint
        self.limit = limit
        self.isSandboxOnly = isSandboxOnly
        segments = path.split(separator: "/").map(String.init)
    }

    /// Everything that is answered; the first match counts. Limits are Apple's where it states them (of the mass
    /// extension's status, groups and seats it is not known).
    static let table = [
        ServerAPIRoute("POST", "/inApps/v1/subscriptions/extend/mass", .massExtend, .rare),
        ServerAPIRoute(
            "GET", "/inApps/v1/subscriptions/extend/mass/{productId}/{requestIdentifier}", .massExtendStatus,
            .lookingUp),
        ServerAPIRoute("PUT", "/inApps/v1/subscriptions/extend/{originalTransactionId}", .extend, .changing),
        ServerAPIRoute("GET", "/inApps/v1/subscriptions/{anyTransactionId}", .statuses, .reading),
        ServerAPIRoute("GET", "/inApps/v1/history/{anyTransactionId}", .historyV1, .reading),
        ServerAPIRoute("GET", "/inApps/v2/history/{anyTransactionId}", .historyV2, .reading),
        ServerAPIRoute("GET", "/inApps/v1/transactions/{transactionId}", .transaction, .reading),
        ServerAPIRoute("POST", "/inApps/v1/transactions/{transactionId}/finish", .finish, .reading),
        ServerAPIRoute(
            "GET", "/inApps/v1/transactions/appTransactions/{anyTransactionId}", .appTransaction, .reading),
        ServerAPIRoute(
            "PUT", "/inApps/v1/transactions/consumption/{transactionId}", .consumptionV1, .reading),
        ServerAPIRoute(
            "PUT", "/inApps/v2/transactions/consumption/{transactionId}", .consumptionV2, .reading),
        ServerAPIRoute(
            "PUT", "/inApps/v1/transactions/{originalTransactionId}/appAccountToken", .setAccountToken, .changing),
        ServerAPIRoute("GET", "/inApps/v1/lookup/{orderId}", .order, .lookingUp),
        ServerAPIRoute("GET", "/inApps/v2/refund/lookup/{anyTransactionId}", .refunds, .lookingUp),
        ServerAPIRoute("POST", "/inApps/v1/notifications/test", .requestTest, .rare),
        ServerAPIRoute(
            "GET", "/inApps/v1/notifications/test/{testNotificationToken}", .testStatus, .rare),
        ServerAPIRoute("POST", "/inApps/v1/notifications/history", .notificationHistory, .reading),
        ServerAPIRoute(
            "GET", "/groups/v1/currentGroups/{anyTransactionId}", .groups, .reading, isSandboxOnly: true),
        ServerAPIRoute("GET", "/groups/v1/group/{groupId}", .groupMembers, .reading, isSandboxOnly: true),
        ServerAPIRoute(
            "POST", "/groups/v1/transactions/{transactionId}/seats", .claimSeat, .changing, isSandboxOnly: true),
        ServerAPIRoute(
            "GET", "/groups/v1/transactions/{transactionId}/seats", .seatInfo, .reading, isSandboxOnly: true),
        ServerAPIRoute(
            "DELETE", "/groups/v1/transactions/{transactionId}/seats/{seatClaimId}", .unclaimSeat, .changing,
            isSandboxOnly: true),
        ServerAPIRoute(
            "POST", "/groups/v1/transactions/{transactionId}/seats/{seatClaimId}/associate", .associateSeat, .changing,
            isSandboxOnly: true),
    ]

    /// The endpoint of a request, and what stands for its `{…}`.
    static func find(_ method: String, _ path: [String]) -> (route: ServerAPIRoute, values: [String])? {
        for route in table where route.method == method && route.segments.count == path.count {
            let pairs = zip(route.segments, path)
            guard pairs.allSatisfy({ $0 == $1 || $0.hasPrefix("{") }) else { continue }
            return (route, pairs.filter { $0.0.hasPrefix("{") }.map(\.1))
        }
        return nil
    }
}
