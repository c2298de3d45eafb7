import AppStore
import CacheTier
import Entitlements
import JSON
import Redis
import Runtime
import Testing
import Time

@testable import Broker
@testable import Consumer

/// The rows of the table of outcomes that are about posted purchases.
@Suite("Outcome of posted purchases") struct PurchaseTests {
    private let metrics = Metrics()
    private let names = BrokerNames(prefix: "t")
    private let anna = "anna"

    private func handler(_ store: any ObservationStore, _ publisher: RecordingPublisher) throws -> DeliveryHandler {
        DeliveryHandler(
            apps: [AppID("demo"): ConsumerApp(identity: Forge.identity)], verifier: try Forge.verifier(), store: store,
            publisher: publisher, names: names, metrics: metrics, clock: WallClock { Forge.now }, log: .discarding)
    }

    private func message(
        _ decisions: [PurchaseMessage.Decision] = [], transactions: [String]? = nil, isForced: Bool = false
    ) throws -> PurchaseMessage {
        PurchaseMessage(
            customer: anna, environment: .sandbox, receivedAt: Forge.now - .seconds(60), isForced: isForced,
            posted: try PostedPurchases(
                signedTransactions: try transactions ?? [Forge.transaction(lineage: "100")]), decisions: decisions)
    }

    private func delivery(
        _ message: PurchaseMessage, exchange: String = "t.intake", isRedelivered: Bool = false
    ) -> BrokerDelivery {
        BrokerDelivery(
            message: BrokerMessage(
                body: message.encoded(),
                headers: [
                    MessageHeader.app: "demo", MessageHeader.correlation: "c-1",
                    MessageHeader.kind: PurchaseMessage.kind,
                ]), exchange: exchange, routingKey: "", isRedelivered: isRedelivered, deliveryCount: 0,
            streamOffset: nil, tag: 1)
    }

    private func claim(_ seconds: Int64 = 60) -> ClaimFact {
        ClaimFact(customer: anna, claimedAt: Forge.now - .seconds(seconds), transactionID: "100")
    }

    @Test func whatTheGatewayDecidedIsFoldedWithWhatAppleSignedAndTold() async throws {
        let (store, publisher) = (ScriptedStore(.unchanged), RecordingPublisher())
        let decided = PurchaseMessage.Decision(
            originalTransactionID: "100", changed: true, claim: claim(), from: ["bertha"])
        let posted = try message([decided])
        let result = try await handler(store, publisher).handle(delivery(posted))
        #expect(result.settlement == .acknowledge)
        let observation = try #require(store.observations.first)
        #expect(observation.source == .device)
        #expect(observation.claim == claim())
        #expect(observation.transaction?.transactionID == "100")
        #expect(store.claims.isEmpty)
        #expect(
            publisher.published.map(\.routingKey) == [
                "demo.sandbox.entitlement.changed", "demo.sandbox.transfer.lost", "demo.sandbox.transfer.gained",
            ])
        let lost = try JSONValue.parse(publisher.published[1].message.body)
        #expect(lost["customer"]?.string == "bertha")
        #expect(lost["to"]?.array?.map(\.string) == ["anna"])
        #expect(lost["why"]?.string == "claim")
        let ids = publisher.published.map(\.message.messageID)
        #expect(Set(ids).count == 3 && !ids.contains(nil))

        // Again, by whoever did not come to acknowledge it: the same is told under the same ids.
        _ = try await handler(store, publisher).handle(delivery(posted, isRedelivered: true))
        #expect(publisher.published.dropFirst(3).map(\.message.messageID) == ids)
    }

    @Test func whatIsUndecidedIsDecidedAsOfItsReceiptAndPublishedForTheLedger() async throws {
        let store = ScriptedStore(.unchanged, decision: .accepted(claim(), from: []))
        let publisher = RecordingPublisher()
        let posted = try message(isForced: true)
        let result = try await handler(store, publisher).handle(delivery(posted))
        #expect(result.settlement == .acknowledge)
        #expect(store.claims.map(\.customer) == [anna])
        #expect(store.claims.map(\.instant) == [Forge.now - .seconds(60)])
        #expect(store.claims.map(\.isForced) == [true])
        let published = try #require(publisher.published.first)
        #expect(publisher.published.count == 1)
        #expect(published.exchange == "t.intake")
        #expect(published.message.headers[MessageHeader.kind] == PurchaseMessage.kind)
        let decided = try PurchaseMessage(decoding: published.message.body)
        #expect(decided["100"]?.claim == claim())
        #expect(decided.posted == posted.posted)

        // When it comes back, there is nothing left to decide.
        _ = try await handler(store, publisher).handle(delivery(decided))
        #expect(store.claims.count == 1)
        #expect(publisher.published.dropFirst().map(\.routingKey) == ["demo.sandbox.entitlement.changed"])
    }

    @Test("Invariant 2: what was decided and not published is tried again")
    func aDecisionThatIsNotPublishedIsTriedAgain() async throws {
        let store = ScriptedStore(.unchanged, decision: .refused(.heldByAnother))
        let publisher = RecordingPublisher(refusing: "")
        let result = try await handler(store, publisher).handle(delivery(try message()))
        #expect(result.settlement == .acknowledge)
        #expect(publisher.published.map(\.routingKey) == ["t.retry.1s"])
    }

    @Test func anOperatorsClaimNeedsNoTransactionBesideIt() async throws {
        let (store, publisher) = (ScriptedStore(.changed), RecordingPublisher())
        var operators = try message([.init(originalTransactionID: "7", changed: true, claim: claim())])
        operators.posted = .nothing
        _ = try await handler(store, publisher).handle(delivery(operators))
        #expect(store.observations.map(\.lineage.originalTransactionID) == ["7"])
        #expect(store.observations.map(\.claim) == [claim()])
        #expect(store.observations.map(\.transaction) == [nil])
    }

    @Test("Invariant 6: the queue is no proof of what Apple signed, and another exchange none of what we decided")
    func theQueueIsNoProof() async throws {
        let (store, publisher) = (ScriptedStore(.changed), RecordingPublisher())
        let decided = PurchaseMessage.Decision(originalTransactionID: "100", changed: true, claim: claim())
        let stranger = try CertificateAuthority(makingAt: Forge.now)
        let forged = try message([decided], transactions: [Forge.transaction(lineage: "100", by: stranger)])
        _ = try await handler(store, publisher).handle(delivery(forged))
        _ = try await handler(store, publisher).handle(delivery(try message([decided]), exchange: "t.events"))
        var broken = delivery(try message([decided]))
        broken = BrokerDelivery.of([0x7B], headers: broken.message.headers)
        _ = try await handler(store, publisher).handle(broken)
        _ = try await handler(store, publisher).handle(
            .of(try message([decided]).encoded(), headers: [MessageHeader.kind: "tomorrow"]))
        #expect(store.observations.isEmpty && store.claims.isEmpty)
        #expect(
            publisher.published.map(\.message.headers[MessageHeader.reason]) == [
                "notTrusted", "foreignClaim", "malformed", "unknownKind",
            ])
    }

    @Test("Invariant 6: a claim that lies ahead, and one for nobody, goes to quarantine and moves nothing")
    func aClaimThatLiesAheadMovesNothing() async throws {
        let (store, publisher) = (ScriptedStore(.changed), RecordingPublisher())
        let ahead = PurchaseMessage.Decision(originalTransactionID: "100", changed: true, claim: claim(-7200))
        var later = try message()
        later.receivedAt = Timestamp(milliseconds: .max)
        var nobodys = try message()
        nobodys.customer = ""
        for wrong in [try message([ahead]), later, nobodys] {
            _ = try await handler(store, publisher).handle(delivery(wrong))
        }
        #expect(store.observations.isEmpty && store.claims.isEmpty)
        #expect(
            publisher.published.map(\.message.headers[MessageHeader.reason]) == ["malformed", "malformed", "malformed"])
    }

    @Test("Invariant 7: purchases of the other environment than the message names are not applied")
    func theEnvironmentIsHeldAgainstThePurchases() async throws {
        let (store, publisher) = (ScriptedStore(.changed), RecordingPublisher())
        var wrong = try message()
        wrong.environment = .production
        _ = try await handler(store, publisher).handle(delivery(wrong))
        #expect(store.observations.isEmpty && store.claims.isEmpty)
        #expect(publisher.published.first?.message.headers[MessageHeader.reason] == "wrongEnvironment")
    }

    @Test func redisAwayIsTriedAgain() async throws {
        let publisher = RecordingPublisher()
        let result = try await handler(ScriptedStore(.failing), publisher).handle(delivery(try message()))
        #expect(result.isTroubled)
        #expect(publisher.published.map(\.routingKey) == ["t.retry.1s"])
    }
}
