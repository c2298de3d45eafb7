package import AppStore
package import Entitlements
package import Time

extension LineageStore {
    /// Takes in what was posted about a lineage, then decides whether the customer gets it, and gives it.
    ///
    /// What Apple signed is taken in whatever is decided. Doing it again changes nothing.
    package func takeIn(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> PurchaseDecision {
        var last: AppliedChange?
        var changed = false
        for observation in lineage.observations {
            let change = try await apply(observation, cause: .answer, at: instant)
            changed = changed || change.changed
            last = change
        }
        return try await decide(
            customer, lineage.id, transactionID: lineage.transaction.transactionID, at: instant, isForced: isForced,
            since: last, changed: changed)
    }

    /// Decides about a lineage that the store knows, and gives it, unless it is a dry run.
    package func decide(
        _ customer: String, _ lineage: LineageID, transactionID: String, at instant: Timestamp, isForced: Bool,
        dryRun: Bool = false
    ) async throws(StoreError) -> PurchaseDecision {
        try await decide(
            customer, lineage, transactionID: transactionID, at: instant, isForced: isForced, dryRun: dryRun,
            since: nil, changed: false)
    }

    private func decide(
        _ customer: String, _ lineage: LineageID, transactionID: String, at instant: Timestamp, isForced: Bool,
        dryRun: Bool = false, since last: AppliedChange?, changed: Bool
    ) async throws(StoreError) -> PurchaseDecision {
        let (decision, change) = try await claim(
            customer: customer, lineage: lineage, transactionID: transactionID, at: instant, isForced: isForced,
            dryRun: dryRun)
        var claim: ClaimFact?
        switch decision {
        case .accepted(let fact, _): claim = fact
        // One that was accepted before belongs into the message too: it may never have reached the ledger.
        case .alreadyTheirs:
            var record = (change ?? last)?.after
            if record == nil { record = try await find(lineage)?.record }
            claim = record?.claims.last { Holder.customer($0.customer) == .customer(customer) }
        case .refused: break
        }
        return PurchaseDecision(
            decision: decision, changed: changed || change?.changed == true, claim: claim,
            revision: (change ?? last)?.revisions[.customer(customer)] ?? 0)
    }

    /// The same decision, and nothing written.
    package func foresee(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> ClaimDecision {
        let newest = lineage.observations.first { $0.transaction == lineage.transaction }
        return try await claim(
            customer: customer, lineage: lineage.id, transactionID: lineage.transaction.transactionID, at: instant,
            isForced: isForced, dryRun: true, seeing: newest
        ).0
    }
}
