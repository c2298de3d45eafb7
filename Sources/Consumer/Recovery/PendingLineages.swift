import CacheTier
import Entitlements
import Redis
import Time

/// The lineages that are in `hold` or of which Apple should be asked, the most urgent first: those whose hold has ended,
/// for their payers may be without access, then by the end of their hold.
///
/// Found in the schedule, which every write of a record keeps (`DueWalk`).
struct PendingLineages {
    struct Pending: Sendable, Hashable {
        let lineage: LineageID
        /// Until when its payer is served; earliest for one that is served no longer.
        let servedUntil: Timestamp?
    }

    private(set) var found: [Pending] = []

    /// `step` is called between the batches of the walk.
    init(
        of app: AppID, in environment: StoreEnvironment, redis: any RedisCommands, map: ProductMap,
        policy: EvaluationPolicy, at now: Timestamp, step: () async throws(RecoveryFailure) -> Void
    ) async throws(RecoveryFailure) {
        var walk = DueWalk(redis: redis, app: app, environment: environment, at: now)
        var known: Set<LineageID> = []
        while true {
            if Task.isCancelled { throw .ended }
            let records: [LineageRecord]?
            do throws(StoreError) { records = try await walk.next() } catch { throw .store(error) }
            guard let records else { break }
            for record in records {
                let evaluation = record.evaluated(at: now, map: map, policy: policy)
                guard evaluation.isInDoubt, known.insert(record.lineage).inserted else { continue }
                found.append(
                    Pending(lineage: record.lineage, servedUntil: evaluation.access ? evaluation.validUntil : nil))
            }
            if !records.isEmpty { try await step() }
        }
        found.sort { $0.isMoreUrgent(than: $1) }
    }
}

extension PendingLineages.Pending {
    func isMoreUrgent(than other: Self) -> Bool {
        let mine = servedUntil?.milliseconds ?? .min
        let its = other.servedUntil?.milliseconds ?? .min
        if mine != its { return mine < its }
        return lineage.originalTransactionID.utf8.lexicographicallyPrecedes(other.lineage.originalTransactionID.utf8)
    }
}
