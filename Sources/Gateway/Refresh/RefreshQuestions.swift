internal import AppStore
internal import CacheTier
internal import Entitlements
internal import Time

/// What Apple is asked about for one customer: one question a lineage, the most urgent ones first.
struct RefreshQuestions {
    let asked: [StatusQuestion]
    /// Lineages that are left out because there are too many.
    let leftOut: Int

    /// One-time purchases that give nothing by the product map are left out: whatever Apple says of them, the answer is
    /// the same.
    init(about known: KnownCustomer, evaluation: CustomerEvaluation, limit: Int) {
        var meanings: [LineageID: LineageEvaluation] = [:]
        for lineage in evaluation.lineages { meanings[lineage.lineage] = lineage }
        let open = known.records.compactMap { record -> (urgency: Urgency, question: StatusQuestion)? in
            let meaning = meanings[record.lineage]
            guard Self.counts(meaning) else { return nil }
            let newest = record.transactions.last?.purchaseDate.milliseconds ?? .max
            let urgency = Urgency(
                isPending: meaning?.pendingVerification ?? true, renews: meaning?.kind == .autoRenewable,
                newest: newest)
            return (urgency, StatusQuestion(about: record))
        }
        let sorted = open.sorted { $0.urgency < $1.urgency }.map(\.question)
        asked = Array(sorted.prefix(limit))
        leftOut = sorted.count - asked.count
    }

    private static func counts(_ meaning: LineageEvaluation?) -> Bool {
        guard let meaning else { return true }
        switch meaning.kind {
        case .autoRenewable, .nonRenewing, .unknown: return true
        case .lifetime, .consumable: return !meaning.entitlements.isEmpty || !meaning.formerEntitlements.isEmpty
        }
    }

    /// What is known not to be all there is comes first, then what renews, then what was bought last.
    private struct Urgency: Comparable {
        let isPending: Bool
        let renews: Bool
        let newest: Int64

        static func < (a: Urgency, b: Urgency) -> Bool {
            if a.isPending != b.isPending { return a.isPending }
            if a.renews != b.renews { return a.renews }
            return a.newest > b.newest
        }
    }
}
