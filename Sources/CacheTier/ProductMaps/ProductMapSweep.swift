internal import Entitlements
internal import Redis
internal import Runtime
internal import Time

/// Those whom another product map concerns: lineages with a product that it brings, drops or changes. Whatever is believed
/// of them was concluded by the old map, or not at all, so Apple is asked about them at once, in the order of their urgency.
struct ProductMapSweep: Sendable {
    private let products: Set<String>
    private let map: ProductMap
    private let policy: EvaluationPolicy

    init(from old: ProductMap, to new: ProductMap, policy: EvaluationPolicy) {
        products = Set(old.products.keys).union(new.products.keys).filter { old.products[$0] != new.products[$0] }
        map = new
        self.policy = policy
    }

    func concerns(_ record: LineageRecord) -> Bool {
        record.transactions.contains { products.contains($0.productID) }
            || record.renewal?.autoRenewProductID.map(products.contains) ?? false
    }

    /// Enters those among `found` as due now, and returns how many of each environment were not. One of which nobody needs
    /// to ask any more is left alone.
    func mark(
        _ found: [HolderScan.Found], of app: AppID, _ redis: any RedisCommands, _ clock: WallClock
    ) async throws(StoreError) -> [StoreEnvironment: UInt64] {
        guard !products.isEmpty else { return [:] }
        let now = clock.now()
        let due = found.flatMap { found in
            found.records.compactMap { record -> Due? in
                guard concerns(record),
                    let row = Cadence.row(of: record, map: map, policy: policy, at: now)
                else { return nil }
                return Due(lineage: record.lineage, holder: found.holder, check: DueCheck(at: now, row: row))
            }
        }
        let marked = try await StoreLink(redis: redis).each(due) { (_, due) async throws(StoreError) in
            let work = DueWork(redis: redis, app: app, environment: due.lineage.environment, clock: clock)
            return (due.lineage.environment, try await work.hasten(due.lineage, of: due.holder, to: due.check))
        }
        return marked.reduce(into: [:]) { if $1.1 { $0[$1.0, default: 0] &+= 1 } }
    }

    private struct Due: Sendable {
        let lineage: LineageID
        let holder: Holder
        let check: DueCheck
    }
}
