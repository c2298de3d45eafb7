import AppStore
import Broker
import CacheTier
import Entitlements
import Time

/// What became of one message of posted purchases.
struct AppliedPurchases: Sendable {
    /// One lineage of the message that had been decided before.
    struct Lineage: Sendable {
        let observation: Observation
        /// What applying it here did.
        let change: AppliedChange
        let decision: PurchaseMessage.Decision

        /// Whether others are to be told: the gateway had changed the store before it published.
        var isNews: Bool { change.changed || decision.changed }
    }

    let message: PurchaseMessage
    var lineages: [Lineage] = []
    /// Decided here just now, to be published before the message is acknowledged.
    var decided: [PurchaseMessage.Decision] = []

    var isNews: Bool { lineages.contains(where: \.isNews) }

    /// Such as `claimed 2, refused 1`.
    var summary: String {
        let words = (lineages.map(\.decision) + decided).map { decision in
            decision.refusal != nil ? "refused" : decision.claim != nil ? "claimed" : "named by its token"
        }
        let counts = words.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        return counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    /// What others are told. A message that somebody had in hand before may have been told of already, or not: so again.
    func events(of delivery: BrokerDelivery, at instant: Timestamp) -> [EventMessage] {
        lineages.filter { $0.isNews || delivery.isAnotherTry }.flatMap { lineage in
            // A post that comes twice has the same id; two posts of the same purchases have two.
            let id = "\(message.id):\(lineage.observation.lineage.originalTransactionID)"
            var change = lineage.change
            if !change.changed { change.previousHolders += lineage.decision.from.map { .customer($0) } }
            let changed = ChangeEvent(change: change, observation: lineage.observation, id: id, at: instant)
            return [changed.message(cause: delivery.message)]
                + lineage.transfers(at: instant).map { $0.message(cause: delivery.message) }
        }
    }
}

extension AppliedPurchases.Lineage {
    /// As it was decided; or, when it was a token in what was posted that moved it, as it was done here.
    fileprivate func transfers(at instant: Timestamp) -> [TransferEvent] {
        if let claim = decision.claim, !decision.from.isEmpty {
            return TransferEvent.all(
                of: observation.lineage, from: decision.from, to: [claim.customer], why: .claim, at: claim.claimedAt,
                cause: "claim \(claim.claimedAt.milliseconds)")
        }
        return TransferEvent.all(of: change, by: observation, at: instant)
    }
}

extension AppliedChange {
    /// Both as one.
    func followed(by next: AppliedChange) -> AppliedChange {
        AppliedChange(
            changed: changed || next.changed, holders: next.holders, previousHolders: previousHolders,
            revisions: revisions.merging(next.revisions) { max($0, $1) }, before: before, after: next.after,
            entries: entries + next.entries)
    }
}
