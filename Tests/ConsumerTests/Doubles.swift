import AppStore
import Entitlements
import JSON
import Redis
import Runtime
import Synchronization
import Time

@testable import Broker
@testable import CacheTier
@testable import Consumer

/// Remembers what was published, and refuses what it is told to.
final class RecordingPublisher: MessagePublisher {
    struct Published: Sendable {
        let message: BrokerMessage
        let exchange: String
        let routingKey: String
    }

    private let state = Mutex<(published: [Published], refused: Set<String>)>(([], []))

    /// Refuses what goes to one of these routing keys.
    init(refusing routingKeys: String...) { state.withLock { $0.refused = Set(routingKeys) } }

    /// From now on what goes to it, too.
    func refuse(_ routingKey: String) { state.withLock { _ = $0.refused.insert(routingKey) } }

    var published: [Published] { state.withLock { $0.published } }
    var isConnected: Bool { true }

    func publish(
        _ message: BrokerMessage, to exchange: String, routingKey: String, mandatory: Bool
    ) async throws(BrokerError) {
        let refuses = state.withLock { state in
            if state.refused.contains(routingKey) { return true }
            state.published.append(Published(message: message, exchange: exchange, routingKey: routingKey))
            return false
        }
        if refuses { throw BrokerError(.nacked, "told to refuse") }
    }
}

/// Says what it is told to, and remembers what it was given.
final class ScriptedStore: ObservationStore {
    private let answer: Result<AppliedChange, StoreError>
    private let state = Mutex<[Observation]>([])
    private let refusal = Mutex<StoreError?>(nil)

    /// What it was asked to decide.
    struct Claim: Sendable {
        let lineage: String
        let customer: String
        let instant: Timestamp
        let isForced: Bool
    }

    private let decision: ClaimDecision
    private let asked = Mutex<[Claim]>([])

    init(_ answer: Result<AppliedChange, StoreError>, decision: ClaimDecision = .alreadyTheirs) {
        self.answer = answer
        self.decision = decision
    }

    var claims: [Claim] { asked.withLock { $0 } }

    func takeIn(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> PurchaseDecision {
        asked.withLock {
            $0.append(
                Claim(
                    lineage: lineage.id.originalTransactionID, customer: customer, instant: instant, isForced: isForced)
            )
        }
        let change = try answer.get()
        var claim: ClaimFact?
        if case .accepted(let fact, _) = decision { claim = fact }
        return PurchaseDecision(decision: decision, changed: change.changed, claim: claim)
    }

    /// Takes no writes for this reason; nil takes them.
    func refuse(_ reason: StoreError?) { refusal.withLock { $0 = reason } }

    func prepare() async throws(StoreError) { if let reason = refusal.withLock({ $0 }) { throw reason } }

    var observations: [Observation] { state.withLock { $0 } }

    func apply(
        _ observation: Observation, cause: TransitionCause, at now: Timestamp
    ) async throws(StoreError) -> AppliedChange {
        state.withLock { $0.append(observation) }
        return try answer.get()
    }
}

extension BrokerDelivery {
    static func of(_ body: [UInt8], app: String? = "demo", headers: [String: String] = [:]) -> BrokerDelivery {
        var headers = headers
        headers[MessageHeader.app] = app
        headers[MessageHeader.correlation] = "c-1"
        return BrokerDelivery(
            message: BrokerMessage(body: body, headers: headers), exchange: "", routingKey: "", isRedelivered: false,
            deliveryCount: 0, streamOffset: nil, tag: 1)
    }
}

/// Collects log lines.
final class Lines: Sendable {
    private let bytes = Mutex<[[UInt8]]>([])
    var sink: Log.Sink { { line in self.bytes.withLock { $0.append(line) } } }
    var all: [JSONValue] { bytes.withLock { $0 }.compactMap { try? JSONValue.parse($0) } }
}

extension Result<AppliedChange, StoreError> {
    static var changed: Self { .success(change(true)) }
    static var unchanged: Self { .success(change(false)) }
    static var failing: Self { .failure(.redis(RedisError(.unreachable, "told to fail"))) }

    private static func change(_ changed: Bool) -> AppliedChange {
        let lineage = LineageID(app: AppID("demo"), environment: .sandbox, originalTransactionID: "100")
        return AppliedChange(
            changed: changed, holders: [.customer("somebody")], revisions: [.customer("somebody"): 7],
            after: LineageRecord(lineage: lineage))
    }
}

/// Folds as the real store does, in memory.
final class FoldingStore: ObservationStore {
    private let state = Mutex<(records: [LineageID: LineageRecord], observations: [Observation])>(([:], []))

    var records: [LineageID: LineageRecord] { state.withLock { $0.records } }
    var observations: [Observation] { state.withLock { $0.observations } }

    func prepare() async throws(StoreError) {}

    /// Gives nothing to anybody.
    func takeIn(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> PurchaseDecision {
        for observation in lineage.observations {
            _ = try await apply(observation, cause: .answer, at: instant)
        }
        return PurchaseDecision(decision: .refused(.heldByAnother))
    }

    func apply(
        _ observation: Observation, cause: TransitionCause, at now: Timestamp
    ) async throws(StoreError) -> AppliedChange {
        state.withLock { state in
            state.observations.append(observation)
            let before = state.records[observation.lineage]
            var after = before ?? LineageRecord(lineage: observation.lineage)
            let changed = after.fold(observation)
            state.records[observation.lineage] = after
            return AppliedChange(
                changed: changed, holders: Holder.all(of: after, under: .keep),
                previousHolders: before.map { Holder.all(of: $0, under: .keep) } ?? [], before: before, after: after)
        }
    }
}

/// Remembers as Redis does, without forgetting in time; fails when told to.
final class RememberedRequests: RefundRequestMemory {
    private let state = Mutex<(first: [String: String], failure: StoreError?)>(([:], nil))

    func fail(_ failure: StoreError?) { state.withLock { $0.failure = failure } }

    func isFirst(
        _ notification: String, about transactionID: String, app: AppID, environment: StoreEnvironment
    ) async throws(StoreError) -> Bool {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return state.withLock { state in
            let first = state.first[transactionID] ?? notification
            state.first[transactionID] = first
            return first == notification
        }
    }

    func close(about transactionID: String, app: AppID, environment: StoreEnvironment) async throws(StoreError) {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        state.withLock { $0.first[transactionID] = nil }
    }
}
