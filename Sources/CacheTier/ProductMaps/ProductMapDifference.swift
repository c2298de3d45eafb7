package import Entitlements
package import Time

/// What another product map makes of one customer, or of an unclaimed lineage, at one instant.
package struct ProductMapDifference: Sendable, Hashable {
    /// Entitlements that are had by the new map alone, and by the old one alone.
    package let gains: [String]
    package let losses: [String]
    /// Entitlements that are had by both, with another end.
    package let otherEnds: [String]
    /// Whether anything in the answer is another, names and levels included.
    package let isChanged: Bool
    /// Products that decide at this instant and that a map does not know, one for each lineage.
    package let unmappedBefore: [String]
    package let unmappedAfter: [String]

    package init(
        of records: [LineageRecord], from old: ProductMap, to new: ProductMap, policy: EvaluationPolicy,
        at instant: Timestamp
    ) {
        let before = CustomerEvaluation(of: records, at: instant, map: old, policy: policy)
        let after = CustomerEvaluation(of: records, at: instant, map: new, policy: policy)
        let had = before.active
        let has = after.active
        gains = has.keys.filter { had[$0] == nil }.sorted()
        losses = had.keys.filter { has[$0] == nil }.sorted()
        otherEnds = has.keys.filter { id in had[id].map { $0 != has[id] } ?? false }.sorted()
        isChanged = Answer.fragment(before) != Answer.fragment(after)
        unmappedBefore = before.lineages.filter { !$0.isMapped }.compactMap(\.productID)
        unmappedAfter = after.lineages.filter { !$0.isMapped }.compactMap(\.productID)
    }
}

extension CustomerEvaluation {
    /// What is had, and until when; nil: without an end.
    fileprivate var active: [String: Timestamp?] {
        Dictionary(uniqueKeysWithValues: entitlements.filter(\.active).map { ($0.id, $0.validUntil) })
    }
}
