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

/// The table of outcomes, row by row.
@Suite("Outcome of a delivery") struct OutcomeTests {
    private let metrics = Metrics()
    private let names = BrokerNames(prefix: "t")

    private func handler(
        _ store: ScriptedStore, _ publisher: RecordingPublisher, map: ProductMap = ProductMap(),
        now: Timestamp = Forge.now, settings: ConsumerSettings = ConsumerSettings(),
        log: Log = .discarding
    ) throws -> DeliveryHandler {
        DeliveryHandler(
            apps: [AppID("demo"): ConsumerApp(identity: Forge.identity, map: map)], verifier: try Forge.verifier(),
            store: store, publisher: publisher, names: names, settings: settings, metrics: metrics,
            clock: WallClock { now }, log: log)
    }

    private func counted(_ line: String) -> Bool { metrics.exposition().contains("\(line) 1\n") }

    @Test func whatChangesARecordIsAcknowledgedAndAnnounced() async throws {
        let (store, publisher) = (ScriptedStore(.changed), RecordingPublisher())
        let body = try Forge.notification(
            "SUBSCRIBED", "INITIAL_BUY", lineage: "100", token: "00000000-0000-4000-8000-000000000001")
        let result = try await handler(store, publisher).handle(.of(body))
        #expect(result.settlement == .acknowledge)
        #expect(store.observations.map(\.lineage.originalTransactionID) == ["100"])
        #expect(store.observations.first?.lineage.environment == .sandbox)
        #expect(
            Set(publisher.published.map(\.routingKey)) == [
                "demo.sandbox.entitlement.changed", "demo.sandbox.subscription.started",
            ])
        #expect(publisher.published.count == 2)
        let changed = publisher.published.first { $0.message.type == "entitlement.changed" }
        let event = try #require(changed)
        #expect(event.exchange == "t.events")
        #expect(event.message.headers["correlation"] == "c-1")
        let said = try JSONValue.parse(event.message.body)
        #expect(said["originalTransactionId"]?.string == "100")
        #expect(said["customer"]?.string == "somebody")
        #expect(counted(#"holdfast_consumer_deliveries_total{outcome="applied"}"#))
        #expect(counted("holdfast_consumer_apply_seconds_count"))
    }

    @Test func aTransitionThatTheTableDoesNotKnowIsAppliedCountedAndShown() async throws {
        let lineage = LineageID(app: AppID("demo"), environment: .sandbox, originalTransactionID: "100")
        let odd = HistoryEntry(
            kind: .transition, at: Forge.now, cause: .renewal, from: .revoked, to: .active, isUnexpected: true)
        let known = HistoryEntry(kind: .transition, at: Forge.now, cause: .time, from: .active, to: .hold)
        let change = AppliedChange(
            changed: true, holders: [.customer("somebody")], after: LineageRecord(lineage: lineage),
            entries: [known, odd])
        let lines = Lines()
        let handler = try handler(
            ScriptedStore(.success(change)), RecordingPublisher(), log: Log(part: "test", sink: lines.sink))
        let result = await handler.handle(.of(try Forge.notification("DID_RENEW", nil, lineage: "100")))
        #expect(result.settlement == .acknowledge)
        let line = #"holdfast_consumer_unexpected_transitions_total{from="revoked",to="active",cause="renewal"}"#
        #expect(counted(line))
        let warnings = lines.all.filter { $0["from"]?.string == "revoked" }
        #expect(warnings.count == 1)
        #expect(warnings.first?["level"]?.string == "warning")
        #expect(warnings.first?["lineage"]?.string == "100")
    }

    @Test func whatIsKnownAlreadyIsAcknowledgedAndItsNotificationTold() async throws {
        let (store, publisher) = (ScriptedStore(.unchanged), RecordingPublisher())
        let body = try Forge.notification("SUBSCRIBED", "INITIAL_BUY", lineage: "100")
        let result = try await handler(store, publisher).handle(.of(body))
        #expect(result.settlement == .acknowledge)
        #expect(publisher.published.map(\.routingKey) == ["demo.sandbox.subscription.started"])
        #expect(counted(#"holdfast_consumer_deliveries_total{outcome="unchanged"}"#))
    }

    @Test func eventsCanBeTurnedOff() async throws {
        let (store, publisher) = (ScriptedStore(.changed), RecordingPublisher())
        var settings = ConsumerSettings()
        settings.publishEvents = false
        let handler = try handler(store, publisher, settings: settings)
        _ = await handler.handle(.of(try Forge.notification(lineage: "100")))
        _ = await handler.handle(.of(try Forge.testNotification()))
        #expect(publisher.published.isEmpty)
    }

    @Test func aTypeWithoutEffectIsNotedAndAcknowledged() async throws {
        let (store, publisher) = (ScriptedStore(.changed), RecordingPublisher())
        let result = try await handler(store, publisher).handle(.of(Forge.testNotification()))
        #expect(result.settlement == .acknowledge)
        #expect(store.observations.isEmpty)
        #expect(counted(#"holdfast_consumer_noted_total{type="TEST"}"#))
    }

    @Test("Invariant 2: every type that Apple documents has its outcome", arguments: NotificationType.allCases)
    func everyTypeHasItsOutcome(type: NotificationType) async throws {
        let (store, publisher) = (ScriptedStore(.changed), RecordingPublisher())
        let handler = try handler(store, publisher)
        _ = await handler.handle(.of(try Forge.notification(type.rawValue, lineage: "100")))
        #expect(store.observations.map(\.notificationType) == [type.rawValue])
        _ = await handler.handle(.of(try Forge.emptyNotification(type.rawValue)))
        #expect(store.observations.count == 1)
        if NotificationTable.undocumented(type).isAboutPurchase {
            #expect(counted(#"holdfast_consumer_quarantined_total{reason="payload"}"#))
            #expect(publisher.published.last?.routingKey == "t.quarantine")
        } else {
            #expect(counted(#"holdfast_consumer_noted_total{type="\#(type.rawValue)"}"#))
        }
    }

    @Test func aTypeOfTomorrowIsNotedWithoutASeriesOfItsOwn() async throws {
        let handler = try handler(ScriptedStore(.changed), RecordingPublisher())
        _ = await handler.handle(.of(try Forge.emptyNotification("TOMORROW")))
        #expect(counted(#"holdfast_consumer_noted_total{type="other"}"#))
    }

    @Test func aMemberThatCannotBeReadIsInTheLogLineAndCounted() async throws {
        let lines = Lines()
        let log = Log(part: "consumer", minimum: .debug, sink: lines.sink)
        let handler = DeliveryHandler(
            apps: [AppID("demo"): ConsumerApp(identity: Forge.identity)], verifier: try Forge.verifier(),
            store: ScriptedStore(.changed), publisher: RecordingPublisher(), names: names, metrics: metrics,
            clock: WallClock { Forge.now }, log: log)
        _ = await handler.handle(
            .of(try Forge.notification(lineage: "100") { $0.member("price", "free") }))
        let line = try #require(lines.all.first)
        #expect(line["event"]?.string == "applied")
        #expect(line["warnings"]?.string == "transaction: price is not a number")
        #expect(counted(#"holdfast_consumer_unreadable_members_total{kind="transaction"}"#))
        _ = await handler.handle(.of(try Forge.notification(lineage: "100")))
        #expect(lines.all.last?["warnings"] == nil)
    }

    @Test func anUnmappedProductIsAppliedAndCounted() async throws {
        let store = ScriptedStore(.changed)
        let map = ProductMap(products: ["basic.month": .init()])
        let handler = try handler(store, RecordingPublisher(), map: map)
        _ = await handler.handle(.of(try Forge.notification(lineage: "100", product: "basic.month")))
        #expect(!metrics.exposition().contains("unmapped_total{"))
        _ = await handler.handle(.of(try Forge.notification(lineage: "100", product: "unheard.of")))
        #expect(store.observations.count == 2)
        #expect(counted(#"holdfast_consumer_unmapped_total{app="demo"}"#))
    }

    @Test("Invariant 2: poison is quarantined with its reason and not applied", arguments: Poison.allCases)
    func poisonIsQuarantinedWithItsReason(poison: Poison) async throws {
        let (store, publisher) = (ScriptedStore(.changed), RecordingPublisher())
        let delivery = try poison.delivery()
        let result = try await handler(store, publisher).handle(delivery)
        #expect(result.settlement == .acknowledge)
        #expect(store.observations.isEmpty)
        let kept = try #require(publisher.published.first)
        #expect(publisher.published.count == 1)
        #expect(kept.exchange == "")
        #expect(kept.routingKey == "t.quarantine")
        #expect(kept.message.body == delivery.message.body)
        #expect(kept.message.headers["reason"] == poison.reason)
        #expect(kept.message.headers["reason-detail"]?.isEmpty == false)
        #expect(kept.message.headers["quarantined-at"] == Forge.now.rfc3339)
        #expect(kept.message.headers["correlation"] == "c-1")
        #expect(counted(#"holdfast_consumer_quarantined_total{reason="\#(poison.reason)"}"#))
    }

    enum Poison: CaseIterable {
        case noApp, unknownApp, malformed, forged, otherBundle, farAhead, xcode

        var reason: String {
            switch self {
            case .noApp, .unknownApp: "unknownApp"
            case .malformed: "malformed"
            case .forged: "notTrusted"
            case .otherBundle: "wrongApp"
            case .farAhead: "signedTooFarAhead"
            case .xcode: "wrongEnvironment"
            }
        }

        func delivery() throws -> BrokerDelivery {
            switch self {
            case .noApp: .of(try Forge.notification(lineage: "1"), app: nil)
            case .unknownApp: .of(try Forge.notification(lineage: "1"), app: "other")
            case .malformed: .of(Array("{}".utf8))
            case .forged: .of(try Forge.forgedNotification())
            case .otherBundle: .of(try Forge.notification(lineage: "1", bundle: "com.example.other"))
            case .farAhead: .of(try Forge.notification(lineage: "1", signed: Forge.now + .seconds(3601)))
            case .xcode: .of(try Forge.notification(lineage: "1", environment: "Xcode"))
            }
        }
    }

    @Test(arguments: [
        (nil, "t.retry.1s", "1"), ("1", "t.retry.5s", "2"), ("2", "t.retry.30s", "3"), ("3", "t.retry.5m", "4"),
        ("4", "t.retry.30m", "5"), ("5", "t.retry.30m", "6"), ("999", "t.retry.30m", "1000"),
        ("-1", "t.retry.1s", "1"), ("99999999999999999999", "t.retry.1s", "1"),
    ])
    func aStoreThatFailsSendsTheMessageToTheNextRetryLevel(attempt: String?, queue: String, next: String) async throws {
        let publisher = RecordingPublisher()
        let body = try Forge.notification(lineage: "100")
        let result = try await handler(ScriptedStore(.failing), publisher).handle(
            .of(body, headers: attempt.map { ["attempt": $0] } ?? [:]))
        #expect(result.settlement == .acknowledge)
        #expect(result.isTroubled)
        let retried = try #require(publisher.published.first)
        #expect(retried.exchange == "")
        #expect(retried.routingKey == queue)
        #expect(retried.message.headers["attempt"] == next)
        #expect(retried.message.headers["app"] == "demo")
        #expect(retried.message.body == body)
        #expect(counted(#"holdfast_consumer_retries_total{cause="store"}"#))
    }

    @Test(arguments: [
        (StoreError.contended, "t.retry.1s", false), (.wrongLayout(found: "9 64"), "t.retry.1s", true),
        (.unreadable(key: "k", reason: "r", isNewer: true), "t.retry.1s", false),
        (.unreadable(key: "k", reason: "r", isNewer: false), "t.quarantine", false),
        (.redis(RedisError(.timedOut, "slow")), "t.retry.1s", true),
    ])
    func everyErrorOfTheStoreHasItsPlace(error: StoreError, queue: String, isTroubled: Bool) async throws {
        let publisher = RecordingPublisher()
        let result = try await handler(ScriptedStore(.failure(error)), publisher).handle(
            .of(Forge.notification(lineage: "100")))
        #expect(result.settlement == .acknowledge)
        #expect(result.isTroubled == isTroubled)
        #expect(publisher.published.map(\.routingKey) == [queue])
    }

    @Test("Invariant 2: what can be neither applied nor sent to retry is requeued")
    func whatCanBeNeitherAppliedNorSentToRetryIsRequeued() async throws {
        let publisher = RecordingPublisher(refusing: "t.retry.1s")
        let result = try await handler(ScriptedStore(.failing), publisher).handle(
            .of(Forge.notification(lineage: "100")))
        #expect(result.settlement == .requeue)
        #expect(result.isTroubled)
        #expect(counted(#"holdfast_consumer_deliveries_total{outcome="requeued"}"#))
    }

    @Test("Invariant 2: when quarantine takes nothing, poison goes to retry")
    func whenQuarantineTakesNothingPoisonGoesToRetry() async throws {
        let publisher = RecordingPublisher(refusing: "t.quarantine")
        let result = try await handler(ScriptedStore(.changed), publisher).handle(.of(Array("{}".utf8)))
        #expect(result.settlement == .acknowledge)
        #expect(publisher.published.map(\.routingKey) == ["t.retry.1s"])
        #expect(counted(#"holdfast_consumer_retries_total{cause="quarantine"}"#))
    }

    @Test func everyLineOfADeliveryCarriesItsCorrelation() async throws {
        let lines = Lines()
        let log = Log(part: "consumer", minimum: .debug, sink: lines.sink)
        let handler = DeliveryHandler(
            apps: [AppID("demo"): ConsumerApp(identity: Forge.identity)], verifier: try Forge.verifier(),
            store: ScriptedStore(.changed), publisher: RecordingPublisher(), names: names, metrics: metrics,
            clock: WallClock { Forge.now }, log: log)
        _ = await handler.handle(.of(try Forge.notification(lineage: "100")))
        _ = await handler.handle(.of(Array("{}".utf8)))
        #expect(lines.all.count == 2)
        check(lines.all.allSatisfy { $0["correlation"]?.string == "c-1" })
        check(lines.all.map { $0["event"]?.string } == ["applied", "quarantined"])
    }
}
