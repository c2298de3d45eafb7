package import AppStore
internal import CacheTier
package import Entitlements
package import Runtime
internal import Synchronization
internal import Time

/// Takes in what a backend posts for a customer: judges it, decides in the store, and makes it durable.
///
/// The store first and the queue second, because the answer is about what the store decided. Whichever fails in between
/// does no harm: a claim that is in the store and in no queue is found there when the backend posts again, as it must when
/// it did not get 200 or 202, and goes to the queue then. While the store is away the purchases go to the queue undecided,
/// and whoever applies them decides.
package struct PurchaseIntake: Sendable {
    /// What is to be done with one post.
    struct Request: Sendable {
        let key: CustomerKey
        let posted: PostedPurchases
        let isForced: Bool
        let correlation: String
    }

    enum Outcome: Sendable {
        case stored(Receipt)
        /// Neither the broker nor the spool took it: nothing may be promised.
        case unstored
    }

    /// What became of a post that is durable now.
    struct Receipt: Sendable {
        let receivedAt: Timestamp
        let lineages: [VerifiedPurchases.Lineage]
        /// By original transaction id; those missing are pending.
        let decisions: [String: PurchaseDecision]

        /// What the answer must be as new as.
        var revision: UInt64 { decisions.values.map(\.revision).max() ?? 0 }
    }

    private let store: any PurchaseStore
    private let durable: IntakeStore
    private let patience: Duration
    private let clock: WallClock
    private let log: Log

    /// `patience` is how long the store may take for the whole of one post.
    package init(
        store: any PurchaseStore, durable: IntakeStore, patience: Duration, clock: WallClock = .system, log: Log
    ) {
        self.store = store
        self.durable = durable
        self.patience = patience
        self.clock = clock
        self.log = log
    }

    /// Decides without writing; nil when the store could not say in time.
    func foresee(_ purchases: VerifiedPurchases, _ request: Request) async -> [String: ClaimDecision]? {
        let now = clock.now()
        let decisions = await decide(purchases, request) { lineage throws(StoreError) in
            try await store.foresee(lineage, for: request.key.customer, at: now, isForced: request.isForced)
        }
        return decisions.count == purchases.lineages.count ? decisions : nil
    }

    func receive(_ purchases: VerifiedPurchases, _ request: Request) async -> (Outcome, IntakeStore.Place?) {
        let now = clock.now()
        let decisions = await decide(purchases, request) { lineage throws(StoreError) in
            try await store.takeIn(lineage, for: request.key.customer, at: now, isForced: request.isForced)
        }
        let message = PurchaseMessage(
            customer: request.key.customer, environment: request.key.environment, receivedAt: now,
            isForced: request.isForced, posted: request.posted,
            decisions: purchases.lineages.compactMap { lineage in
                decisions[lineage.id.originalTransactionID]?.message(about: lineage.id)
            })
        let place = await durable.store(
            IntakeMessage(purchases: message, app: request.key.app, correlation: request.correlation))
        guard let place else { return (.unstored, nil) }
        return (
            .stored(Receipt(receivedAt: now, lineages: purchases.lineages, decisions: decisions)), place
        )
    }

    /// What could be decided within the bound, by original transaction id. All lineages are asked about at once.
    private func decide<Decision: Sendable>(
        _ purchases: VerifiedPurchases, _ request: Request,
        _ ask: @escaping @Sendable (VerifiedPurchases.Lineage) async throws(StoreError) -> Decision
    ) async -> [String: Decision] {
        guard store.isReachable else { return [:] }
        let decided = Decided<Decision>()
        let log = log.with(["correlation": .init(request.correlation)])
        let isComplete: Void? = await Patience.wait(patience) {
            await withTaskGroup { group in
                for lineage in purchases.lineages {
                    group.addTask {
                        do throws(StoreError) {
                            decided.add(try await ask(lineage), for: lineage.id.originalTransactionID)
                        } catch {
                            log.warning(
                                "a claim could not be decided",
                                ["lineage": .init(lineage.id.originalTransactionID), "error": .init(error)])
                        }
                    }
                }
            }
        }
        if isComplete == nil { log.warning("the store did not decide all claims in time") }
        return decided.all
    }
}

extension IntakeMessage {
    /// A message of posted purchases, for the intake.
    package init(purchases: PurchaseMessage, app: AppID, correlation: String) {
        self.init(
            headers: [
                PurchaseMessage.kindHeader: PurchaseMessage.kind, "app": app.rawValue,
                "environment": purchases.environment.rawValue, "correlation": correlation,
                "received-at": purchases.receivedAt.rfc3339,
            ], messageID: purchases.id, body: purchases.encoded())
    }
}

/// Collects decisions as they come, so that those made in time count though others were late.
private final class Decided<Decision: Sendable>: Sendable {
    private let decisions = Mutex<[String: Decision]>([:])

    func add(_ decision: Decision, for lineage: String) { decisions.withLock { $0[lineage] = decision } }
    var all: [String: Decision] { decisions.withLock { $0 } }
}
