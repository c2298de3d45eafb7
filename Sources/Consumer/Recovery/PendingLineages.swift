import CacheTier
import Entitlements
import Redis
import Time

/// The lineages that are in `hold` or of which Apple should be asked, the most urgent first: those whose hold has ended,
/// for their payers may be without access, then by the end of their hold.
///
/// Found by a walk over all holders. An index of what is due would find them at once and would have to be kept by every
/// write, while this is asked after an outage only, when a minute more or less is nothing beside a hold of a day.
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
        let parts: [any RedisCommands]
        do throws(RedisError) { parts = try await redis.parts() } catch { throw .store(.redis(error)) }
        var known: Set<LineageID> = []
        for part in parts {
            var scan = HolderScan(redis: part, app: app)
            var cursor = HolderScan.beginning
            repeat {
                if Task.isCancelled { throw .ended }
                let batch: HolderScan.Batch
                do throws(StoreError) { batch = try await scan.batch(after: cursor) } catch { throw .store(error) }
                for holder in batch.found where holder.environment == environment {
                    for record in holder.records {
                        let evaluation = record.evaluated(at: now, map: map, policy: policy)
                        guard evaluation.isInDoubt, known.insert(record.lineage).inserted else { continue }
                        found.append(
                            Pending(
                                lineage: record.lineage, servedUntil: evaluation.access ? evaluation.validUntil : nil))
                    }
                }
                cursor = batch.cursor
                try await step()
            } while cursor != HolderScan.beginning
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
