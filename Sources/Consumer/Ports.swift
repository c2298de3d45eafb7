package import AppStore
package import Broker
package import CacheTier
package import Entitlements
package import Time

/// What the consumer asks of the broker's publisher.
package protocol MessagePublisher: Sendable {
    /// Whether messages can be published right now.
    var isConnected: Bool { get }
    func publish(
        _ message: BrokerMessage, to exchange: String, routingKey: String, mandatory: Bool
    ) async throws(BrokerError)
}

extension BrokerPublisher: MessagePublisher {}

/// What the consumer asks of the store: idempotent, returns once Redis has replied.
package protocol ObservationStore: Sendable {
    /// Throws when Redis takes no writes, or holds something else than this version's store.
    func prepare() async throws(StoreError)
    func apply(
        _ observation: Observation, cause: TransitionCause, at now: Timestamp
    ) async throws(StoreError) -> AppliedChange
    /// Takes in what was posted about a lineage, and decides whether the customer gets it.
    func takeIn(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> PurchaseDecision
}

extension LineageStore: ObservationStore {}

/// Tells the App Store's repeated requests about a transaction from the first one.
package protocol RefundRequestMemory: Sendable {
    func isFirst(
        _ notification: String, about transactionID: String, app: AppID, environment: StoreEnvironment
    ) async throws(StoreError) -> Bool
    func close(about transactionID: String, app: AppID, environment: StoreEnvironment) async throws(StoreError)
}

extension RefundRequests: RefundRequestMemory {}
