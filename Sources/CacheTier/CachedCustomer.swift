package import Entitlements
internal import JSON
internal import Synchronization
internal import Time

/// A customer as read from the store, and what was made of it last.
final class CachedCustomer: Sendable {
    let key: CustomerKey
    let revision: UInt64
    let records: [LineageRecord]
    /// When the read was sent: what is here is not older than that.
    let readAt: ContinuousClock.Instant
    /// The memory's epoch in which it was read (`MemoryTier`).
    let epoch: Int
    /// About how much memory it takes.
    let cost: Int
    private let view = Mutex<View?>(nil)

    /// What the records mean between two instants by one product map, and the part of the answer that says so.
    struct View: Sendable {
        let from: Timestamp
        /// Of the map.
        let generation: UInt64
        let evaluation: CustomerEvaluation
        let fragment: [UInt8]

        func holds(at instant: Timestamp, by map: ProductMapInForce) -> Bool {
            generation == map.generation && from <= instant && evaluation.nextChangeAt.map { instant < $0 } ?? true
        }
    }

    init(
        key: CustomerKey, revision: UInt64, records: [LineageRecord], readAt: ContinuousClock.Instant, epoch: Int,
        storedBytes: Int
    ) {
        self.key = key
        self.revision = revision
        self.records = records
        self.readAt = readAt
        self.epoch = epoch
        // Decoded facts take about twice their JSON; the evaluation and its rendering come on top for each lineage.
        cost = 512 + 2 * key.path.utf8.count + 2 * storedBytes + 2048 * records.count
    }

    /// Whether the store has never heard of it.
    var isUnknown: Bool { revision == 0 && records.isEmpty }

    /// The same with what `former` knows besides; nil when that is nothing.
    func joined(with former: CachedCustomer) -> CachedCustomer? {
        var lineages: [String: LineageRecord] = [:]
        for record in records { lineages[record.lineage.originalTransactionID] = record }
        var holdsMore = false
        for record in former.records {
            let id = record.lineage.originalTransactionID
            if var known = lineages[id] {
                if known.merge(record) { holdsMore = true }
                lineages[id] = known
            } else {
                lineages[id] = record
                holdsMore = true
            }
        }
        guard holdsMore else { return nil }
        return CachedCustomer(
            key: key, revision: revision, records: Array(lineages.values), readAt: readAt, epoch: epoch,
            storedBytes: max(cost, former.cost))
    }

    /// Evaluates at `instant` (invariant 9). An evaluation holds from its instant until its next change, so the last one
    /// made for about now is used again as long as it does and no other product map counts.
    func view(at instant: Timestamp, map: ProductMapInForce, policy: EvaluationPolicy, isAboutNow: Bool) -> View {
        if let held = view.withLock({ $0 }), held.holds(at: instant, by: map) { return held }
        let evaluation = CustomerEvaluation(of: records, at: instant, map: map.map, policy: policy)
        let made = View(
            from: instant, generation: map.generation, evaluation: evaluation, fragment: Answer.fragment(evaluation))
        // Somebody who asks about next year must not make everybody else evaluate anew.
        if isAboutNow { view.withLock { $0 = made } }
        return made
    }
}

/// What an app decides: what its products give, and how gaps are bridged.
package struct AppRules: Sendable {
    /// The settings' product map, which counts as long as none was published (`ProductMaps`).
    package var products: ProductMap
    package var policy: EvaluationPolicy

    package init(products: ProductMap = ProductMap(), policy: EvaluationPolicy = .standard) {
        self.products = products
        self.policy = policy
    }
}
