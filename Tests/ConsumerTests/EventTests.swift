import AppStore
import CacheTier
import Entitlements
import JSON
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import Broker
@testable import Consumer
@testable import Simulator

/// What notifications tell others, row by row, through the handler that the line runs.
@Suite("Events", .timeLimit(.minutes(6))) struct EventTests {
    @Test("Every row's notification leads to its event, with the fields that are promised, and to its cause")
    func everyRowLeadsToItsEvent() async throws {
        let stage = try EventStage()
        let bought = try stage.buy()
        for row in NotificationTable.rows {
            let notification = try stage.notification(row, about: bought)
            let seen = (published: stage.publisher.published.count, applied: stage.records.observations.count)
            let result = try await stage.deliver(notification)
            #expect(result.settlement == .acknowledge, "\(notification.name)")
            let new = stage.publisher.published.dropFirst(seen.published)
            check(new.allSatisfy { $0.exchange == "t.events" }, notification.name)
            let isAboutLineage = row.transaction != .none
            #expect(
                Set(new.map(\.routingKey))
                    == Set(
                        ["demo.sandbox.\(row.event.rawValue)"]
                            + (isAboutLineage ? ["demo.sandbox.entitlement.changed"] : [])), "\(notification.name)")
            let event = try stage.event(row.event)
            #expect(event.message.messageID == "\(notification.uuid):\(row.event.rawValue)")
            #expect(event.message.headers["correlation"] == "c-1")
            check(keys(of: event.body) == Self.common + row.event.details.map(\.rawValue), notification.name)
            for detail in row.event.details where event.body[detail.rawValue]?.object != nil {
                check(keys(of: event.body[detail.rawValue]) == detail.fields.map(\.key), "\(row.event) \(detail)")
            }
            #expect(event.body["event"]?.string == row.event.rawValue)
            #expect(event.body["notificationUUID"]?.string == notification.uuid)
            #expect(event.body["notificationType"]?.string == notification.type)
            #expect(event.body["subtype"]?.string == notification.subtype)
            #expect(event.body["signedDate"]?.string == notification.signedDate.rfc3339)
            #expect((event.body["after"]?["state"]?.string == nil) == !isAboutLineage)
            let observations = stage.records.observations.dropFirst(seen.applied)
            let causes = observations.map { NotificationTable.cause(of: $0) }
            #expect(causes == (isAboutLineage ? [row.cause] : []), "\(notification.name)")
        }
        #expect(!stage.metrics.exposition().contains("holdfast_consumer_undocumented_total 1"))
    }

    private static let common = [
        "event", "id", "app", "environment", "customers", "originalTransactionId", "transactionId", "productId",
        "notificationUUID", "notificationType", "subtype", "signedDate", "changed", "evaluatedAt", "mapVersion",
        "before", "after",
    ]

    private func keys(of value: JSONValue?) -> [String] { value?.object?.members.map(\.key) ?? [] }

    @Test("Invariant 2: what no row is for leads to its event, and its facts are applied")
    func whatNoRowIsForIsToldAndApplied() async throws {
        for (type, subtype) in [("TOMORROW", "NEW"), ("TOMORROW", nil), ("DID_RENEW", "NEW"), ("REFUND", "UPGRADE")] {
            let stage = try EventStage()
            let bought = try stage.buy()
            try await stage.deliver(try stage.notification(type, subtype, about: bought))
            #expect(Set(stage.told) == ["notification.unknown", "entitlement.changed"])
            let event = try stage.event(.notificationUnknown)
            #expect(event.body["notificationType"]?.string == type)
            #expect(event.body["subtype"]?.string == subtype)
            #expect(event.body["after"]?["state"]?.string == "active")
            #expect(stage.records.records.values.first?.transactions.map(\.transactionID) == [bought.id])
            #expect(stage.metrics.exposition().contains("holdfast_consumer_undocumented_total 1"))
        }
    }

    @Test("Invariant 2: an object that nobody knows is told, and is about no lineage")
    func anUnknownObjectIsTold() async throws {
        let stage = try EventStage()
        let notification = try #require(
            stage.store.announce("TOMORROW", "NEW", .unknown("tomorrowInfo"), at: Forge.now).notification)
        let result = try await stage.deliver(notification)
        #expect(result.settlement == .acknowledge)
        #expect(stage.told == ["notification.unknown"])
        #expect(stage.records.records.isEmpty)
    }

    @Test(
        "What changes no state damages none: tests, summaries, tokens, consent, prices, descriptions, migrations, unknown"
    )
    func whatChangesNoStateDamagesNone() async throws {
        let stage = try EventStage()
        let bought = try stage.buy()
        try await stage.deliver(try stage.notification("SUBSCRIBED", "INITIAL_BUY", about: bought))
        let before = try #require(stage.records.records.values.first)
        func meaning(_ record: LineageRecord) -> [String] {
            // While paid, at the end, within the hold and after it.
            [0, 21, 22, 60].map { day in
                let at = record.evaluated(at: Forge.now + .seconds(day * 86_400), map: EventStage.map)
                return "\(at.state) \(at.access) \(at.productID ?? "") \(at.validUntil?.rfc3339 ?? "") \(at.willRenew)"
            }
        }
        let harmless: Set<NotificationType> = [
            .test, .renewalExtension, .externalPurchaseToken, .rescindConsent, .priceIncrease, .priceChange,
            .metadataUpdate, .migration, .migrate, .unclaimSeats, .consumptionRequest, .refundDeclined,
        ]
        let unknown = [
            NotificationTable.unknown, NotificationTable.undocumented(.test),
        ]
        for row in NotificationTable.rows.filter({ $0.type.map(harmless.contains) == true }) + unknown {
            let notification = try stage.notification(row, about: bought)
            try await stage.deliver(notification)
            #expect(stage.records.records.count == 1, "\(notification.name)")
            let after = try #require(stage.records.records.values.first)
            #expect(meaning(after) == meaning(before), "\(notification.name)")
            #expect(after.customer == before.customer)
            #expect(after.transactions.map(\.transactionID) == before.transactions.map(\.transactionID))
        }
    }

    // MARK: What is in them

    @Test func aRefundSaysHowMuchAndThatAccessIsGone() async throws {
        let stage = try EventStage()
        let bought = try stage.buy()
        try await stage.deliver(try stage.notification("SUBSCRIBED", "INITIAL_BUY", about: bought))
        let events = try stage.store.perform(.refund(reason: 1), for: EventStage.account, at: Forge.now)
        for notification in events.compactMap(\.notification) { try await stage.deliver(notification) }
        let refund = try stage.event(.refundGranted).body
        #expect(refund["customers"]?.array?.map(\.string) == [EventStage.account])
        #expect(refund["originalTransactionId"]?.string == bought.originalID)
        #expect(refund["productId"]?.string == "pro.monthly")
        #expect(refund["revocation"]?["reason"]?.int64 == 1)
        #expect(refund["revocation"]?["type"]?.string == "REFUND_FULL")
        #expect(refund["revocation"]?["date"]?.string == Forge.now.rfc3339)
        #expect(refund["before"]?["state"]?.string == "active")
        #expect(refund["before"]?["access"]?.bool == true)
        #expect(refund["after"]?["state"]?.string == "revoked")
        #expect(refund["after"]?["access"]?.bool == false)
        #expect(refund["changed"]?.bool == true)
        #expect(refund["mapVersion"]?.string == "7")
        #expect(refund["evaluatedAt"]?.string == Forge.now.rfc3339)
    }

    @Test func aFirstPurchaseHasNothingBefore() async throws {
        let stage = try EventStage()
        try await stage.deliver(try stage.notification("SUBSCRIBED", "INITIAL_BUY", about: try stage.buy()))
        let event = try stage.event(.subscriptionStarted).body
        #expect(event["before"] == .null)
        #expect(event["after"]?["productId"]?.string == "pro.monthly")
        #expect(event["purchase"]?["price"]?.int64 == 9990)
        #expect(event["offer"] == .null)
    }

    @Test func everybodyWhoSharesASubscriptionIsNamed() async throws {
        let lineage = LineageID(app: AppID("demo"), environment: .sandbox, originalTransactionID: "100")
        let change = AppliedChange(
            changed: true, holders: [.customer("a"), .customer("b")], after: LineageRecord(lineage: lineage))
        let notification = try Forge.verifier().verify(
            Forge.notification("SUBSCRIBED", "INITIAL_BUY", lineage: "100"), for: Forge.identity, now: Forge.now)
        let event = OutboundEvent(
            notification, app: AppID("demo"), rules: ConsumerApp(identity: Forge.identity), change: change,
            at: Forge.now)
        let said = try JSONValue.parse(event.body)
        #expect(said["customers"]?.array?.map(\.string) == ["a", "b"])
    }

    @Test func aPlannedDowngradeSaysWhatComesNext() async throws {
        let stage = try EventStage()
        _ = try stage.buy()
        let events = try stage.store.perform(.change(to: "basic.monthly"), for: EventStage.account, at: Forge.now)
        for notification in events.compactMap(\.notification) { try await stage.deliver(notification) }
        let plan = try stage.event(.productDowngradeScheduled).body["plan"]
        #expect(plan?["nextProductId"]?.string == "basic.monthly")
        #expect(plan?["change"]?.string == "downgrade")
        #expect(plan?["willRenew"]?.bool == true)
        #expect(plan?["changeAt"]?.string != nil)
    }

    @Test func whatStandsBesideDataIsToldFieldByField() async throws {
        let stage = try EventStage()
        let bought = try stage.buy()
        for row in NotificationTable.rows { try await stage.deliver(try stage.notification(row, about: bought)) }
        let summary = try stage.event(.renewalExtensionSummary).body
        #expect(summary["productId"]?.string == "pro.monthly")
        #expect(summary["extensionSummary"]?["succeeded"]?.int64 == 5)
        #expect(summary["extensionSummary"]?["failed"]?.int64 == 1)
        #expect(summary["extensionSummary"]?["storefronts"]?.array?.map(\.string) == ["DEU"])
        let token = try stage.event(.externalPurchaseTokenCreated).body["externalPurchaseToken"]
        #expect(token?["id"]?.string?.hasPrefix("SANDBOX") == true)
        #expect(token?["type"]?.string == "SERVICES")
        #expect(try stage.event(.consentRescinded).body["appTransactionId"]?.string == "700000001")
        let seats = try stage.event(.seatsUnclaimed).body["unclaimedSeats"]?.array
        #expect(seats?.map(\.string) == ["11111111-2222-4333-8444-555555555555"])
    }

    // MARK: At least once

    @Test("A notification that comes late, or again, is told although it changes nothing")
    func whatChangesNothingIsToldAllTheSame() async throws {
        let stage = try EventStage()
        let bought = try stage.buy()
        let failed = try stage.notification(
            "DID_FAIL_TO_RENEW", nil, about: bought, at: Forge.now - .seconds(86_400))
        let recovered = try stage.notification("DID_RENEW", "BILLING_RECOVERY", about: bought)
        for notification in [recovered, failed, failed] { try await stage.deliver(notification) }
        check(stage.told.filter { $0 == "billing.failed" }.count == 2)
        check(stage.told.filter { $0 == "entitlement.changed" }.count == 1)
        #expect(try stage.event(.billingFailed).body["changed"]?.bool == false)
        let ids = Set(
            stage.publisher.published.filter { $0.message.type == "billing.failed" }.map(\.message.messageID))
        #expect(ids == ["\(failed.uuid):billing.failed"])
    }

    @Test("What was written by somebody who died before telling is told at the next try")
    func whatWasWrittenButNotToldIsTold() async throws {
        let stage = try EventStage()
        let notification = try stage.notification("SUBSCRIBED", "INITIAL_BUY", about: try stage.buy())
        // Written, and then nothing.
        try await stage.deliver(notification)
        let lost = Set(stage.publisher.published.map(\.message.messageID))
        for (again, headers) in [(true, [:]), (false, ["attempt": "1"])] {
            let seen = stage.publisher.published.count
            try await stage.deliver(notification, again: again, headers: headers)
            let new = stage.publisher.published.dropFirst(seen)
            #expect(Set(new.map(\.message.messageID)) == lost)
            #expect(Set(new.map(\.message.type)) == ["subscription.started", "entitlement.changed"])
        }
    }

    @Test("An event that the broker does not take is tried again with its notification, and given up in the end")
    func anEventThatIsRefusedIsTriedAgainAndGivenUp() async throws {
        let publisher = RecordingPublisher(refusing: "demo.sandbox.subscription.started")
        let stage = try EventStage(publisher: publisher)
        let notification = try stage.notification("SUBSCRIBED", "INITIAL_BUY", about: try stage.buy())
        var headers: [String: String] = [:]
        for queue in ["t.retry.1s", "t.retry.5s", "t.retry.30s"] {
            let result = try await stage.deliver(notification, headers: headers)
            #expect(result.settlement == .acknowledge)
            #expect(!result.isTroubled)
            let retried = try #require(publisher.published.last)
            #expect(retried.routingKey == queue)
            headers = retried.message.headers
        }
        let seen = publisher.published.count
        let result = try await stage.deliver(notification, headers: headers)
        #expect(result.settlement == .acknowledge)
        // What the broker does take is told each time.
        #expect(publisher.published.dropFirst(seen).map(\.routingKey) == ["demo.sandbox.entitlement.changed"])
        let lost = #"holdfast_consumer_events_total{event="subscription.started",outcome="lost"} 1"#
        #expect(stage.metrics.exposition().contains(lost))
        #expect(!stage.metrics.exposition().contains(#"{event="entitlement.changed",outcome="lost"}"#))
        let retries = #"holdfast_consumer_retries_total{cause="events"} 3"#
        #expect(stage.metrics.exposition().contains(retries))
    }

    @Test("A broker that takes neither the event nor the retry gets the notification back, for another try")
    func whatCanNeitherBeToldNorSentToRetryIsRequeued() async throws {
        let stage = try EventStage(
            publisher: RecordingPublisher(refusing: "demo.sandbox.test.received", "t.retry.1s"))
        let test = try #require(stage.store.testNotification(at: Forge.now).notification)
        let result = try await stage.deliver(test)
        #expect(result.settlement == .requeue)
        #expect(result.isTroubled)
    }

    // MARK: Requests for consumption data

    @Test("A transaction's repeated requests, under new UUIDs, lead to one event, until the App Store has decided")
    func repeatedRequestsLeadToOneEvent() async throws {
        let stage = try EventStage()
        let bought = try stage.buy()
        let other = try stage.buy("lifetime")
        func requests() -> Int { stage.told.filter { $0 == "refund.consumptionRequested" }.count }
        let first = try stage.notification("CONSUMPTION_REQUEST", nil, about: bought, reason: "FULFILLMENT_ISSUE")
        try await stage.deliver(first)
        let asked = try stage.event(.refundConsumptionRequested).body
        #expect(asked["transactionId"]?.string == bought.id)
        #expect(asked["consumptionRequest"]?["reason"]?.string == "FULFILLMENT_ISSUE")
        #expect(
            asked["consumptionRequest"]?["answerBy"]?.string == (first.signedDate + .seconds(12 * 3600)).rfc3339)
        for _ in 0..<3 {
            try await stage.deliver(try stage.notification("CONSUMPTION_REQUEST", nil, about: bought))
        }
        #expect(requests() == 1)
        // The first one again may be its first try: the event is told again, under the same id.
        try await stage.deliver(first, again: true)
        #expect(requests() == 2)
        try await stage.deliver(try stage.notification("CONSUMPTION_REQUEST", nil, about: other))
        #expect(requests() == 3)
        try await stage.deliver(try stage.notification("REFUND_DECLINED", nil, about: bought))
        try await stage.deliver(try stage.notification("CONSUMPTION_REQUEST", nil, about: bought))
        #expect(requests() == 4)
    }

    @Test func withoutRedisARequestWaitsInsteadOfBeingToldTwice() async throws {
        let stage = try EventStage()
        let request = try stage.notification("CONSUMPTION_REQUEST", nil, about: try stage.buy())
        stage.requests.fail(.redis(RedisError(.unreachable, "told to fail")))
        let result = try await stage.deliver(request)
        #expect(result.isTroubled)
        #expect(stage.publisher.published.map(\.routingKey) == ["t.retry.1s"])
        stage.requests.fail(nil)
        try await stage.deliver(request, headers: ["attempt": "1"])
        #expect(Set(stage.told) == ["refund.consumptionRequested", "entitlement.changed"])
    }

    @Test func aRequestThatNobodyCouldBeToldOfIsFirstAgain() async throws {
        let stage = try EventStage(publisher: RecordingPublisher(refusing: "demo.sandbox.refund.consumptionRequested"))
        let bought = try stage.buy()
        let request = try stage.notification("CONSUMPTION_REQUEST", nil, about: bought)
        try await stage.deliver(request, headers: ["attempt": "3", "event-attempt": "3"])
        let isFirst = try await stage.requests.isFirst(
            "another", about: bought.id, app: AppID("demo"), environment: .sandbox)
        #expect(isFirst)
    }

    // MARK: Names

    @Test(arguments: [("", false), ("a b", false), (String(repeating: "a", count: 65), false), ("a-1", true)])
    func aUUIDThatIsNoneStandsInNoId(uuid: String, stands: Bool) {
        #expect(EventMessage.id(uuid, .testReceived) == (stands ? "\(uuid):test.received" : nil))
        #expect(EventMessage.id(nil, .testReceived) == nil)
    }
}
