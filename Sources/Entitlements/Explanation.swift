package import Time

/// Why a customer has or lacks something at one instant: one sentence, then the evidence.
///
/// Made by the rules that answer reads, from the same facts: it cannot say anything else than the answer does. The
/// instant may lie in the past: what is known now, as it was then (ruling 7).
package struct Explanation: Sendable, Hashable {
    package let instant: Timestamp
    /// The entitlement that was asked about; nil for all of them.
    package let entitlement: String?
    /// Whether the customer has it; without one asked about, whether the customer has any.
    package let hasAccess: Bool
    /// For people: the reason, and when it began or ends.
    package let sentence: String
    package let mapVersion: String
    package let evaluation: CustomerEvaluation
    /// In the order of `evaluation.lineages`.
    package let lineages: [LineageExplanation]

    /// `histories`: what was noted of each lineage, when that is to be told, too.
    package init(
        of records: [LineageRecord], entitlement: String? = nil, at instant: Timestamp, map: ProductMap,
        policy: EvaluationPolicy = .standard, histories: [LineageID: [HistoryEntry]]? = nil
    ) {
        self.instant = instant
        self.entitlement = entitlement
        mapVersion = map.version
        let evaluation = CustomerEvaluation(of: records, at: instant, map: map, policy: policy)
        self.evaluation = evaluation
        lineages = evaluation.lineages.compactMap { lineage in
            records.first { $0.lineage == lineage.lineage }.map {
                LineageExplanation(
                    of: $0, evaluation: lineage, at: instant, map: map, policy: policy,
                    history: histories.map { $0[lineage.lineage] ?? [] })
            }
        }
        if let entitlement {
            let found = evaluation.entitlements.first { $0.id == entitlement }
            hasAccess = found?.active ?? false
            sentence = Self.sentence(on: entitlement, found, evaluation, map)
        } else {
            let active = evaluation.entitlements.filter(\.active).map(\.id)
            hasAccess = !active.isEmpty
            sentence = Self.sentence(onAll: active, evaluation, map)
        }
    }

    private static func sentence(
        on id: String, _ found: CustomerEvaluation.Entitlement?, _ evaluation: CustomerEvaluation, _ map: ProductMap
    ) -> String {
        guard let found else { return sentence(onMissing: id, evaluation, map) }
        let grantors = evaluation.lineages.filter { found.grantedBy.contains($0.lineage.originalTransactionID) }
        // The one whose end is the entitlement's end is the one to speak of.
        guard let decisive = grantors.first(where: { $0.end(of: id) == found.validUntil }) ?? grantors.first else {
            return "Whether the customer has \(id) cannot be explained."
        }
        if found.active {
            let until = found.validUntil.map { " until \($0.rfc3339)" } ?? ", without an end"
            let others =
                grantors.count > 1 ? " \(grantors.count - 1) more of the customer's purchases give it too." : ""
            return "Has \(id)\(until): \(decisive.summary).\(others)"
        }
        let since = found.validUntil.map { " since \($0.rfc3339)" } ?? ""
        if !decisive.entitlements.contains(id) {
            return "Does not have \(id)\(since): \(decisive.name) is \(decisive.productID ?? "something else") now, "
                + "which does not give it."
        }
        return "Does not have \(id)\(since): \(decisive.summary)."
    }

    private static func sentence(
        onMissing id: String, _ evaluation: CustomerEvaluation, _ map: ProductMap
    ) -> String {
        let sources = map.products.filter { $0.value.entitlements.contains(id) }.keys.sorted()
        guard !sources.isEmpty else {
            let known = Set(map.products.values.flatMap(\.entitlements)).sorted().joined(separator: ", ")
            return "Does not have \(id): the product map (version \(map.version)) has no product that gives it. "
                + "What it gives: \(known.isEmpty ? "nothing" : known)."
        }
        guard !evaluation.lineages.isEmpty else { return "Does not have \(id): \(nothingKnown)" }
        let unmapped = evaluation.unmappedProducts.joined(separator: ", ")
        guard unmapped.isEmpty else {
            return
                "Does not have \(id): the product map (version \(map.version)) does not know \(unmapped), which this "
                + "customer bought. \(id) comes from \(sources.joined(separator: ", "))."
        }
        return "Does not have \(id): nothing that this customer bought gives it. It comes from "
            + "\(sources.joined(separator: ", "))."
    }

    private static func sentence(
        onAll active: [String], _ evaluation: CustomerEvaluation, _ map: ProductMap
    ) -> String {
        guard !evaluation.lineages.isEmpty else { return "Has nothing: \(nothingKnown)" }
        guard active.isEmpty else { return "Has \(active.joined(separator: ", "))." }
        let unmapped = evaluation.unmappedProducts.joined(separator: ", ")
        guard unmapped.isEmpty else {
            return "Has nothing: the product map (version \(map.version)) does not know \(unmapped)."
        }
        return "Has nothing: " + evaluation.lineages.map(\.summary).joined(separator: "; ") + "."
    }

    private static let nothingKnown =
        "no signed purchase is known that names this customer. If there was one, it carried no or another "
        + "appAccountToken, or it has moved to another customer: look it up by its transaction id."
}

extension LineageEvaluation {
    /// What to call it: "subscription 2000…1 (pro.monthly)".
    package var name: String {
        let noun =
            switch kind {
            case .autoRenewable, .nonRenewing: "subscription"
            case .lifetime, .consumable, .unknown: "purchase"
            }
        return "\(noun) \(lineage.originalTransactionID)" + (productID.map { " (\($0))" } ?? "")
    }

    /// Name, state and reason in half a sentence.
    package var summary: String { "\(name) is \(state.phrase). \(reason.sentence.dropLast())" }

    fileprivate func end(of entitlement: String) -> Timestamp? {
        entitlements.contains(entitlement) ? validUntil : formerEntitlements[entitlement]
    }
}

extension LineageState {
    /// The state within a sentence.
    package var phrase: String {
        switch self {
        case .active: "active"
        case .canceled: "canceled"
        case .gracePeriod: "in its grace period"
        case .billingRetry: "in billing retry"
        case .expired: "expired"
        case .revoked: "revoked"
        case .hold: "on hold"
        }
    }
}
