import AppStore
import Entitlements
import TestSupport
import Testing
import Time

/// Every endpoint: what goes over the wire and what is read from Apple's sample answers.
@Suite(.timeLimit(.minutes(6))) struct EndpointTests {
    /// One call of one endpoint.
    struct Case: Sendable, CustomTestStringConvertible {
        let endpoint: ServerAPIEndpoint
        let line: String
        var body: String?
        /// A file of `Fixtures`, or the answer itself.
        var answer: String
        /// Makes the call and says what is wrong with what was read.
        let call: @Sendable (ServerAPIClient) async throws -> Bool
        var testDescription: String { endpoint.name }
    }

    private static let start = Timestamp(milliseconds: 1_698_148_900_123)
    private static let attempt = Timestamp(milliseconds: 1_698_148_900_000)

    private static func firstPage<Page: ServerAPIPage>(_ pages: ServerAPIPages<Page>) async throws -> Page? {
        var pages = pages
        return try await pages.next()?.page
    }

    private static var fullFilter: TransactionHistoryFilter {
        var filter = TransactionHistoryFilter()
        filter.startDate = start
        filter.endDate = start + .seconds(1)
        filter.productIDs = ["a.b", "c d"]
        filter.productTypes = [.autoRenewable, .consumable]
        filter.sort = .descending
        filter.subscriptionGroups = ["g1", "g2"]
        filter.ownership = .familyShared
        filter.revoked = false
        return filter
    }

    private static let fullQuery =
        "?startDate=1698148900123&endDate=1698148901123&productId=a.b&productId=c%20d&productType=AUTO_RENEWABLE"
        + "&productType=CONSUMABLE&sort=DESCENDING&subscriptionGroupIdentifier=g1&subscriptionGroupIdentifier=g2"
        + "&inAppOwnershipType=FAMILY_SHARED&revoked=false"

    private static let extent = RenewalExtension(
        days: 45, reason: .customerSatisfaction, requestIdentifier: "FDF964A4-233B-486C-AAC1-97D8D52688AC")

    static let cases: [Case] = [
        Case(
            endpoint: .massExtend, line: "POST /inApps/v1/subscriptions/extend/mass",
            body:
                #"{"extendByDays":45,"extendReasonCode":1,"requestIdentifier":"fdf964a4-233b-486c-aac1-97d8d52688ac","#
                + #""productId":"com.example.product","storefrontCountryCodes":["USA","MEX"]}"#,
            answer: "extendRenewalDateForAllActiveSubscribersResponse"
        ) {
            try await $0.massExtend("com.example.product", by: extent, storefronts: ["USA", "MEX"], .support)
                .requestIdentifier == "758883e8-151b-47b7-abd0-60c4d804c2f5"
        },
        Case(
            endpoint: .massExtendStatus,
            line: "GET /inApps/v1/subscriptions/extend/mass/com.example.product/20fba8a0-2b80-4a7d-a17f-85c1854727f8",
            answer: "getStatusOfSubscriptionRenewalDateExtensionsResponse"
        ) {
            let status = try await $0.massExtendStatus(
                "com.example.product", requestIdentifier: "20FBA8A0-2b80-4a7d-a17f-85c1854727f8", .support)
            return status.complete == true && status.completeDate == attempt && status.succeededCount == 30
                && status.failedCount == 2 && status.requestIdentifier?.hasPrefix("20fba8a0") == true
        },
        Case(
            endpoint: .extend, line: "PUT /inApps/v1/subscriptions/extend/4124214",
            body:
                #"{"extendByDays":45,"extendReasonCode":1,"requestIdentifier":"fdf964a4-233b-486c-aac1-97d8d52688ac"}"#,
            answer: "extendSubscriptionRenewalDateResponse"
        ) {
            let answer = try await $0.extend("4124214", by: extent, .support)
            return answer.originalTransactionID == "2312412" && answer.webOrderLineItemID == "9993"
                && answer.success == true && answer.effectiveDate == attempt
        },
        Case(
            endpoint: .statuses, line: "GET /inApps/v1/subscriptions/4321?status=2&status=1",
            answer: "getAllSubscriptionStatusesResponse"
        ) {
            let answer = try await $0.statuses("4321", .support, only: [2, 1])
            let items = answer.data.flatMap(\.lastTransactions)
            return answer.environment == "LocalTesting" && answer.bundleID == "com.example"
                && answer.appAppleID == 5_454_545 && items.map(\.status) == [1, 5, 2]
                && answer.data.map(\.subscriptionGroupIdentifier) == ["sub_group_one", "sub_group_two"]
                && items[1].originalTransactionID == "5314314134" && items[1].signedRenewalInfo == "signed_renewal_two"
                && items[2].signedTransactionInfo == "signed_transaction_three"
        },
        Case(
            endpoint: .historyV1, line: "GET /inApps/v1/history/1234" + fullQuery, answer: "transactionHistoryResponse"
        ) { try await firstPage($0.historyV1("1234", .support, filter: fullFilter))?.revision == "revision_output" },
        Case(
            endpoint: .history, line: "GET /inApps/v2/history/1234" + fullQuery, answer: "transactionHistoryResponse"
        ) {
            let page = try await firstPage($0.history("1234", .support, filter: fullFilter))
            return page?.hasMore == true && page?.environment == "LocalTesting" && page?.bundleID == "com.example"
                && page?.appAppleID == 323_232
                && page?.signedTransactions == ["signed_transaction_value", "signed_transaction_value2"]
        },
        Case(
            endpoint: .transaction, line: "GET /inApps/v1/transactions/1234", answer: "transactionInfoResponse"
        ) {
            try await $0.transaction("1234", .support).signedTransactionInfo == "signed_transaction_info_value"
        },
        Case(endpoint: .finish, line: "POST /inApps/v1/transactions/1234/finish", answer: "") {
            try await $0.finish("1234", .support)
            return true
        },
        Case(
            endpoint: .appTransaction, line: "GET /inApps/v1/transactions/appTransactions/1234",
            answer: "appTransactionInfoResponse"
        ) {
            try await $0.appTransaction("1234", .support).signedAppTransactionInfo
                == "signed_app_transaction_info_value"
        },
        Case(
            endpoint: .setAccountToken, line: "PUT /inApps/v1/transactions/49571273/appAccountToken",
            body: #"{"appAccountToken":"7389a31a-fb6d-4569-a2a6-db7d85d84813"}"#, answer: ""
        ) {
            try await $0.setAccountToken(
                "7389A31A-FB6D-4569-A2A6-DB7D85D84813", ofOriginalTransaction: "49571273", .support)
            return true
        },
        Case(
            endpoint: .consumptionV1, line: "PUT /inApps/v1/transactions/consumption/49571273",
            body: #"{"customerConsented":true,"appAccountToken":""}"#, answer: ""
        ) {
            try await $0.sendConsumptionV1(ConsumptionRequestV1(customerConsented: true), of: "49571273", .support)
            return true
        },
        Case(
            endpoint: .consumption, line: "PUT /inApps/v2/transactions/consumption/49571273",
            body: #"{"customerConsented":true,"sampleContentProvided":false,"deliveryStatus":"DELIVERED","#
                + #""consumptionPercentage":50000,"refundPreference":"GRANT_PRORATED"}"#, answer: ""
        ) {
            try await $0.sendConsumption(
                ConsumptionRequest(
                    customerConsented: true, sampleContentProvided: false, deliveryStatus: .delivered,
                    consumptionPercentage: 50_000, refundPreference: .grantProrated), of: "49571273", .support)
            return true
        },
        Case(endpoint: .order, line: "GET /inApps/v1/lookup/W002182", answer: "lookupOrderIdResponse") {
            let answer = try await $0.order("W002182", .support)
            return answer.status == 1
                && answer.signedTransactions == ["signed_transaction_one", "signed_transaction_two"]
        },
        Case(
            endpoint: .refunds, line: "GET /inApps/v2/refund/lookup/555555", answer: "getRefundHistoryResponse"
        ) {
            let page = try await firstPage($0.refunds("555555", .support))
            return page?.revision == "revision_output" && page?.hasMore == true && page?.signedTransactions.count == 2
        },
        Case(
            endpoint: .testNotification, line: "POST /inApps/v1/notifications/test",
            answer: "requestTestNotificationResponse"
        ) {
            try await $0.requestTestNotification(.support).testNotificationToken
                == "ce3af791-365e-4c60-841b-1674b43c1609"
        },
        Case(
            endpoint: .testNotificationStatus,
            line: "GET /inApps/v1/notifications/test/8cd2974c-f905-492a-bf9a-b2f47c791d19_17",
            answer: "getTestNotificationStatusResponse"
        ) {
            let answer = try await $0.testNotificationStatus("8cd2974c-f905-492a-bf9a-b2f47c791d19_17", .support)
            return answer.signedPayload == "signed_payload"
                && answer.sendAttempts.map(\.sendAttemptResult) == ["NO_RESPONSE", "SUCCESS"]
                && answer.sendAttempts[0].attemptDate == attempt
        },
        Case(
            endpoint: .notifications, line: "POST /inApps/v1/notifications/history",
            body: #"{"startDate":1698148900123,"endDate":1698148901123,"notificationType":"SUBSCRIBED","#
                + #""notificationSubtype":"INITIAL_BUY","onlyFailures":true}"#,
            answer: "getNotificationHistoryResponse"
        ) {
            var filter = NotificationHistoryFilter(from: start, to: start + .seconds(1))
            filter.notificationType = "SUBSCRIBED"
            filter.notificationSubtype = "INITIAL_BUY"
            filter.onlyFailures = true
            let page = try await firstPage($0.notifications(filter, .support))
            return page?.paginationToken == "57715481-805a-4283-8499-1c19b5d6b20a"
                && page?.notificationHistory.map(\.signedPayload) == ["signed_payload_one", "signed_payload_two"]
                && page?.notificationHistory.map(\.sendAttempts.count) == [2, 1]
        },
        Case(
            endpoint: .groups, line: "GET /groups/v1/currentGroups/1234",
            answer: #"{"groups":[{"groupId":"900000000000000000","groupType":"ORGANIZATION","roles":["#
                + #"{"productId":"p","role":"ADMIN"}]}]}"#
        ) {
            let group = try await $0.groups("1234", .support).groups.first
            return group?.groupID == "900000000000000000" && group?.groupType == "ORGANIZATION"
                && group?.roles.first?.productID == "p" && group?.roles.first?.role == "ADMIN"
        },
        Case(
            endpoint: .groupMembers, line: "GET /groups/v1/group/900000000000000000?limit=100",
            answer: #"{"members":[{"appTransactionId":"7"},{"appTransactionId":"8"}],"hasMore":false}"#
        ) {
            try await firstPage($0.groupMembers("900000000000000000", .support, limit: 100))?.appTransactionIDs
                == ["7", "8"]
        },
        Case(
            endpoint: .claimSeat, line: "POST /groups/v1/transactions/1234/seats",
            body: #"{"requestIdentifier":"fdf964a4-233b-486c-aac1-97d8d52688ac","appTransactionId":"77"}"#,
            answer: #"{"seatClaimId":"s-1"}"#
        ) {
            try await $0.claimSeat(
                "1234", requestIdentifier: "fdf964a4-233b-486c-aac1-97d8d52688ac", appTransactionID: "77", .support
            ).seatClaimID == "s-1"
        },
        Case(
            endpoint: .seats, line: "GET /groups/v1/transactions/1234/seats",
            answer: #"{"totalSeatCount":5,"availableSeatCount":4,"assignedSeatClaimIds":["s-1"]}"#
        ) {
            let seats = try await $0.seats("1234", .support)
            return seats.totalSeatCount == 5 && seats.availableSeatCount == 4 && seats.assignedSeatClaimIDs == ["s-1"]
        },
        Case(endpoint: .releaseSeat, line: "DELETE /groups/v1/transactions/1234/seats/s-1", answer: "") {
            try await $0.releaseSeat("s-1", of: "1234", .support)
            return true
        },
        Case(
            endpoint: .associateSeat, line: "POST /groups/v1/transactions/1234/seats/s-1/associate",
            body: #"{"appTransactionId":"77"}"#, answer: ""
        ) {
            try await $0.associateSeat("s-1", of: "1234", appTransactionID: "77", .support)
            return true
        },
    ]

    @Test func everyEndpointOfTheTableIsTested() {
        #expect(Set(Self.cases.map(\.endpoint)) == Set(ServerAPIEndpoint.allCases))
    }

    @Test(arguments: cases) func anEndpointIsAskedAsAppleWantsAndItsAnswerIsRead(_ one: Case) async throws {
        let text = one.answer.isEmpty || one.answer.hasPrefix("{") ? one.answer : try fixture(one.answer)
        try await Stage.with(answering: { _ in answer(text.isEmpty ? 202 : 200, text) }) { stage in
            let isRead = try await one.call(stage.client)
            #expect(isRead)
            let request = try #require(stage.requests.first)
            #expect(request.line == one.line)
            #expect(request.body == one.body ?? "")
            #expect(request.headers["content-type"] == (one.body == nil ? nil : "application/json"))
            #expect(request.headers["accept"] == "application/json")
            #expect(request.headers["user-agent"]?.hasPrefix("holdfast/") == true)
            #expect(request.headers["authorization"]?.hasPrefix("Bearer ey") == true)
            #expect(
                request.headers["content-length"] == (request.line.hasPrefix("P") ? "\(request.body.utf8.count)" : nil))
        }
    }
}
