package import Time

/// What a customer has at one instant: the union over the customer's lineages.
///
/// Lineages of two environments never belong together (invariant 7); callers keep them apart by their keys, and one of
/// another environment or app than the first is left out here too.
package struct CustomerEvaluation: Sendable, Hashable {
    /// One entitlement that the customer has or once had.
    package struct Entitlement: Sendable, Hashable {
        package let id: String
        package let active: Bool
        /// While active, the latest end of those that grant it; afterwards, when it ended. nil: it does not end.
        package let validUntil: Timestamp?
        package let state: LineageState
        package let willRenew: Bool
        /// The original transaction ids of the lineages that grant it; once it has ended, of those that did.
        package let grantedBy: [String]
    }

    /// By id.
    package let entitlements: [Entitlement]
    /// All lineages, one-time purchases included, by original transaction id.
    package let lineages: [LineageEvaluation]
    /// Products that the map does not know: they grant nothing until it does.
    package let unmappedProducts: [String]
    package let nextChangeAt: Timestamp?

    /// The lineages that have begun and are subscriptions.
    package var subscriptions: [LineageEvaluation] {
        lineages.filter { $0.productID != nil && ($0.kind == .autoRenewable || $0.kind == .nonRenewing) }
    }

    package init(
        of records: some Sequence<LineageRecord>, at instant: Timestamp, map: ProductMap,
        policy: EvaluationPolicy = .standard
    ) {
        self.init(of: records.map { $0.evaluated(at: instant, map: map, policy: policy) })
    }

    package init(of evaluations: [LineageEvaluation]) {
        let first = evaluations.first?.lineage
        lineages = evaluations.filter { $0.lineage.app == first?.app && $0.lineage.environment == first?.environment }
            .sorted { $0.lineage.originalTransactionID < $1.lineage.originalTransactionID }
        unmappedProducts = Set(lineages.filter { !$0.isMapped }.compactMap(\.productID)).sorted()
        nextChangeAt = lineages.compactMap(\.nextChangeAt).min()

        var grants: [String: [Grant]] = [:]
        for lineage in lineages {
            for id in lineage.entitlements { grants[id, default: []].append(Grant(current: lineage)) }
            for (id, end) in lineage.formerEntitlements { grants[id, default: []].append(Grant(former: lineage, end)) }
        }
        entitlements = grants.map { id, grants in Grant.union(grants, of: id) }.sorted { $0.id < $1.id }
    }

    /// One lineage's part in one entitlement.
    private struct Grant {
        let by: String
        let state: LineageState
        let validUntil: Timestamp?
        let willRenew: Bool

        init(current lineage: LineageEvaluation) {
            by = lineage.lineage.originalTransactionID
            state = lineage.state
            validUntil = lineage.validUntil
            willRenew = lineage.willRenew
        }

        init(former lineage: LineageEvaluation, _ end: Timestamp) {
            by = lineage.lineage.originalTransactionID
            state = .expired
            validUntil = end
            willRenew = false
        }

        /// Those that are live count alone; the one with the latest end gives the state.
        static func union(_ grants: [Grant], of id: String) -> Entitlement {
            let live = grants.filter(\.state.hasAccess)
            let counted = live.isEmpty ? grants : live
            let last = counted.max { a, b in
                guard let end = a.validUntil else { return false }
                return b.validUntil.map { end < $0 } ?? true
            }
            return Entitlement(
                id: id, active: !live.isEmpty, validUntil: last?.validUntil, state: last?.state ?? .expired,
                willRenew: live.contains(where: \.willRenew), grantedBy: counted.map(\.by))
        }
    }
}
