import AppStore
import CacheTier
import Entitlements
import JSON
import Runtime
import Testing
import Time

@testable import Broker
@testable import Consumer

/// The rows of the table of outcomes that are about Apple's answers.
@Suite("Outcome of Apple's answers") struct StatusTests {
    private let metrics = Metrics()
    private let names = BrokerNames(prefix: "t")
    private static let lineage = LineageID(
        app: AppID("demo"), environment: .sandbox, originalTransactionID: "100")

    private func handler(
        _ store: any ObservationStore, _ publisher: RecordingPublisher, now: Timestamp = Forge.now
    ) throws -> DeliveryHandler {
        DeliveryHandler(
            apps: [AppID("demo"): ConsumerApp(identity: Forge.identity)], verifier: try Forge.verifier(), store: store,
            publisher: publisher, names: names, metrics: metrics, clock: WallClock { now }, log: .discarding)
    }

    private func message(
        status: Int = 1, signed: Timestamp = Forge.now, purchased: Timestamp = Forge.now, transaction: String? = nil,
        environment: String = "Sandbox", by authority: CertificateAuthority? = nil
    ) throws -> StatusMessage {
        let signedTransaction = try Forge.transaction(
            lineage: "100", transaction: transaction, environment: environment, signed: signed, purchased: purchased,
            token: "0b0efcb7-5f4e-4e0c-8f2c-6a7c2b1b7f10", by: authority)
        let answer = """
            {"bundleId":"\(Forge.identity.bundleID)","data":[{"lastTransactions":[{"status":\(status),\
            "originalTransactionId":"100","signedTransactionInfo":"\(signedTransaction)"}]}]}
            """
        return StatusMessage(
            StatusQuestion(lineage: Self.lineage, call: .statuses, transactionID: "100"), for: .recovery,
            askedAt: signed, took: .milliseconds(80), answer: Array(answer.utf8))
    }

    private func delivery(
        _ message: StatusMessage, exchange: String = "t.intake", isRedelivered: Bool = false
    ) -> BrokerDelivery {
        BrokerDelivery(
            message: BrokerMessage(statuses: message, correlation: "c-1"), exchange: exchange, routingKey: "",
            isRedelivered: isRedelivered, deliveryCount: 0, streamOffset: nil, tag: 1)
    }

    @Test func anAnswerIsFoldedAndToldWhenItMeansSomethingElse() async throws {
        let (store, publisher) = (FoldingStore(), RecordingPublisher())
        let result = try await handler(store, publisher).handle(delivery(try message()))
        #expect(result.settlement == .acknowledge)
        let observation = try #require(store.observations.first)
        #expect(observation.source == .status)
        #expect(observation.lineage == Self.lineage)
        #expect(observation.status == StatusFact(status: 1, signedDate: Forge.now))
        #expect(publisher.published.map(\.routingKey) == ["demo.sandbox.entitlement.changed"])
        let id = publisher.published.first?.message.messageID
        #expect(id != nil)

        // By whoever did not come to acknowledge it: told again, under the same id.
        _ = try await handler(store, publisher).handle(delivery(try message(), isRedelivered: true))
        #expect(publisher.published.count == 2)
        #expect(Set(publisher.published.map(\.routingKey)) == ["demo.sandbox.entitlement.changed"])

        // Apple signs all anew each time, and that alone is no news.
        let later = Forge.now + .seconds(60)
        _ = try await handler(store, publisher, now: later).handle(delivery(try message(signed: later)))
        #expect(store.records[Self.lineage]?.status?.signedDate == later)
        #expect(publisher.published.count == 2)

        // Over, by Apple's word.
        let over = Forge.now + .seconds(31 * 86_400)
        _ = try await handler(store, publisher, now: over).handle(delivery(try message(status: 2, signed: over)))
        #expect(store.records[Self.lineage]?.evaluated(at: over, map: ProductMap()).state == .expired)
        #expect(publisher.published.count == 3)
        let answered = metrics.counter("holdfast_consumer_answers_total", "", labels: ["purpose": "recovery"])
        #expect(answered.value == 4)
    }

    @Test("Invariant 5: what is held is settled by Apple's answer, either way")
    func whatIsHeldIsSettledByApplesAnswer() async throws {
        let over = Forge.now + .seconds(30 * 86_400 + 3600)
        for (status, state) in [(1, LineageState.active), (2, .expired), (3, .billingRetry)] {
            let (store, publisher) = (FoldingStore(), RecordingPublisher())
            _ = try await handler(store, publisher).handle(.of(try Forge.notification(lineage: "100")))
            let held = try #require(store.records[Self.lineage]?.evaluated(at: over, map: ProductMap()))
            #expect(held.state == .hold && held.pendingVerification)
            // Renewed, Apple shows the transaction of the new period.
            let renewed = status == 1
            let answer = try message(
                status: status, signed: over, purchased: renewed ? over - .seconds(3600) : Forge.now,
                transaction: renewed ? "101" : "100")
            _ = try await handler(store, publisher, now: over).handle(delivery(answer))
            let settled = try #require(store.records[Self.lineage]?.evaluated(at: over, map: ProductMap()))
            #expect(settled.state == state)
            #expect(!settled.pendingVerification)
        }
    }

    @Test("Invariant 6: the queue is no proof, and another exchange none of what Apple said")
    func theQueueIsNoProof() async throws {
        let (store, publisher) = (FoldingStore(), RecordingPublisher())
        let handler = try handler(store, publisher)
        let stranger = try CertificateAuthority(makingAt: Forge.now)
        _ = await handler.handle(delivery(try message(by: stranger)))
        _ = await handler.handle(delivery(try message(environment: "Production")))
        _ = await handler.handle(delivery(try message(), exchange: "t.events"))
        _ = await handler.handle(.of([0x7B], headers: [MessageHeader.kind: StatusMessage.kind]))
        _ = await handler.handle(
            .of(try message().encoded(), app: "other", headers: [MessageHeader.kind: StatusMessage.kind]))
        _ = await handler.handle(delivery(try message(signed: Forge.now + .seconds(7200))))
        #expect(store.observations.isEmpty)
        #expect(Set(publisher.published.map(\.routingKey)) == ["t.quarantine"])
        let reasons = publisher.published.map { $0.message.headers[MessageHeader.reason] }
        #expect(
            reasons == ["notTrusted", "wrongEnvironment", "foreignAnswer", "malformed", "unknownApp", "malformed"])
    }

    @Test func whatComesBackFromARetryQueueIsStillOurs() async throws {
        let publisher = RecordingPublisher()
        let failed = try await handler(ScriptedStore(.failing), publisher).handle(delivery(try message()))
        #expect(failed.settlement == .acknowledge && failed.isTroubled)
        let retried = try #require(publisher.published.first)
        #expect(retried.routingKey == "t.retry.1s")
        let store = FoldingStore()
        let back = BrokerDelivery(
            message: retried.message, exchange: "", routingKey: "t.apply", isRedelivered: false, deliveryCount: 0,
            streamOffset: nil, tag: 1)
        _ = try await handler(store, publisher).handle(back)
        #expect(store.observations.count == 1)
    }

    @Test("Invariant 2: an event that the broker does not take leaves the answer to another try")
    func anEventThatIsNotTakenLeavesTheAnswerToAnotherTry() async throws {
        let (store, publisher) = (FoldingStore(), RecordingPublisher(refusing: "demo.sandbox.entitlement.changed"))
        _ = try await handler(store, publisher).handle(delivery(try message()))
        #expect(publisher.published.map(\.routingKey) == ["t.retry.1s"])
    }

    @Test func anAnswerThatSaysNothingIsNoted() async throws {
        let (store, publisher) = (FoldingStore(), RecordingPublisher())
        let nothing = StatusMessage(
            StatusQuestion(lineage: Self.lineage, call: .statuses, transactionID: "100"), for: .refresh,
            askedAt: Forge.now, took: .zero, answer: Array(#"{"data":[]}"#.utf8))
        let result = try await handler(store, publisher).handle(delivery(nothing))
        #expect(result.settlement == .acknowledge)
        #expect(store.observations.isEmpty && publisher.published.isEmpty)
    }
}
