/// One method an endpoint. `priority` says who goes first when Apple's limits do not leave room for all.
extension ServerAPIClient {
    // MARK: Transactions

    package func transaction(
        _ transactionID: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> TransactionInfoResponse {
        try await call(try request(.transaction, transactionID), priority)
    }

    package func appTransaction(
        _ transactionID: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> AppTransactionInfoResponse {
        try await call(try request(.appTransaction, transactionID), priority)
    }

    /// Get All Subscription Statuses; `statuses` 1 to 5, none for all.
    package func statuses(
        _ transactionID: String, _ priority: CallPriority, only statuses: [Int] = []
    ) async throws(ServerAPIFailure) -> StatusResponse {
        let values = statuses.map { ServerAPIRequest.Value("status", String($0)) }
        return try await call(try request(.statuses, transactionID, values), priority)
    }

    package func order(
        _ orderID: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> OrderLookupResponse {
        try await call(try ServerAPIRequest(.order, [ServerAPIRequest.Value("orderId", orderID)]), priority)
    }

    package func finish(_ transactionID: String, _ priority: CallPriority) async throws(ServerAPIFailure) {
        _ = try await call(try request(.finish, transactionID), priority, as: EmptyResponse.self)
    }

    package func setAccountToken(
        _ token: String, ofOriginalTransaction id: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) {
        let request = try ServerAPIRequest(
            .setAccountToken,
            [ServerAPIRequest.Value("originalTransactionId", id), ServerAPIRequest.Value("appAccountToken", token)])
        _ = try await call(request, priority, as: EmptyResponse.self)
    }

    package func sendConsumption(
        _ consumption: ConsumptionRequest, of transactionID: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) {
        let request = try request(.consumption, transactionID, consumption.values)
        _ = try await call(request, priority, as: EmptyResponse.self)
    }

    package func sendConsumptionV1(
        _ consumption: ConsumptionRequestV1, of transactionID: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) {
        let request = try request(.consumptionV1, transactionID, consumption.values)
        _ = try await call(request, priority, as: EmptyResponse.self)
    }

    // MARK: Extending renewal dates

    package func extend(
        _ originalTransactionID: String, by extent: RenewalExtension, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> ExtendResponse {
        let id = ServerAPIRequest.Value("originalTransactionId", originalTransactionID)
        return try await call(try ServerAPIRequest(.extend, [id] + extent.values), priority)
    }

    /// For all subscribers of a product, in some storefronts (ISO 3166-1 alpha-3) or, with none named, in all.
    package func massExtend(
        _ productID: String, by extent: RenewalExtension, storefronts: [String] = [], _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> MassExtendResponse {
        let product = ServerAPIRequest.Value("productId", productID)
        let countries = storefronts.map { ServerAPIRequest.Value("storefrontCountryCodes", $0) }
        return try await call(try ServerAPIRequest(.massExtend, extent.values + [product] + countries), priority)
    }

    package func massExtendStatus(
        _ productID: String, requestIdentifier: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> MassExtendStatusResponse {
        let values = [
            ServerAPIRequest.Value("productId", productID),
            ServerAPIRequest.Value("requestIdentifier", requestIdentifier),
        ]
        return try await call(try ServerAPIRequest(.massExtendStatus, values), priority)
    }

    // MARK: Lists of several pages

    /// Get Transaction History, version 2.
    package func history(
        _ transactionID: String, _ priority: CallPriority,
        filter: TransactionHistoryFilter = TransactionHistoryFilter()
    ) throws(ServerAPIFailure) -> ServerAPIPages<HistoryResponse> {
        try pages(of: request(.history, transactionID, filter.values), priority)
    }

    /// Get Transaction History, version 1.
    package func historyV1(
        _ transactionID: String, _ priority: CallPriority,
        filter: TransactionHistoryFilter = TransactionHistoryFilter()
    ) throws(ServerAPIFailure) -> ServerAPIPages<HistoryResponse> {
        try pages(of: request(.historyV1, transactionID, filter.values), priority)
    }

    package func refunds(
        _ transactionID: String, _ priority: CallPriority
    ) throws(ServerAPIFailure) -> ServerAPIPages<RefundHistoryResponse> {
        try pages(of: request(.refunds, transactionID), priority)
    }

    package func notifications(
        _ filter: NotificationHistoryFilter, _ priority: CallPriority
    ) throws(ServerAPIFailure) -> ServerAPIPages<NotificationHistoryResponse> {
        try pages(of: ServerAPIRequest(.notifications, filter.values), priority)
    }

    /// `limit` is how many a page, 1 to 100.
    package func groupMembers(
        _ groupID: String, _ priority: CallPriority, limit: Int? = nil
    ) throws(ServerAPIFailure) -> ServerAPIPages<GroupMembersResponse> {
        var values = [ServerAPIRequest.Value("groupId", groupID)]
        values.add("limit", limit)
        return try pages(of: ServerAPIRequest(.groupMembers, values), priority)
    }

    // MARK: Test notifications

    package func requestTestNotification(
        _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> TestNotificationResponse {
        try await call(try ServerAPIRequest(.testNotification, []), priority)
    }

    package func testNotificationStatus(
        _ token: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> TestNotificationStatusResponse {
        let values = [ServerAPIRequest.Value("testNotificationToken", token)]
        return try await call(try ServerAPIRequest(.testNotificationStatus, values), priority)
    }

    // MARK: Groups and seats, so far in the sandbox only

    package func groups(
        _ transactionID: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> GroupsResponse {
        try await call(try request(.groups, transactionID), priority)
    }

    /// The same `requestIdentifier` claims a seat once, however often it is sent.
    package func claimSeat(
        _ transactionID: String, requestIdentifier: String, appTransactionID: String? = nil, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> ClaimSeatResponse {
        var values = [ServerAPIRequest.Value("requestIdentifier", requestIdentifier)]
        values.add("appTransactionId", appTransactionID)
        return try await call(try request(.claimSeat, transactionID, values), priority)
    }

    package func seats(
        _ transactionID: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> SeatsResponse {
        try await call(try request(.seats, transactionID), priority)
    }

    package func releaseSeat(
        _ seatClaimID: String, of transactionID: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) {
        let request = try request(.releaseSeat, transactionID, [ServerAPIRequest.Value("seatClaimId", seatClaimID)])
        _ = try await call(request, priority, as: EmptyResponse.self)
    }

    package func associateSeat(
        _ seatClaimID: String, of transactionID: String, appTransactionID: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) {
        let values = [
            ServerAPIRequest.Value("seatClaimId", seatClaimID),
            ServerAPIRequest.Value("appTransactionId", appTransactionID),
        ]
        _ = try await call(try request(.associateSeat, transactionID, values), priority, as: EmptyResponse.self)
    }

    private func request(
        _ endpoint: ServerAPIEndpoint, _ transactionID: String, _ values: [ServerAPIRequest.Value] = []
    ) throws(ServerAPIFailure) -> ServerAPIRequest {
        try ServerAPIRequest(endpoint, [ServerAPIRequest.Value("transactionId", transactionID)] + values)
    }
}
