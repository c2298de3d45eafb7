internal import Runtime
internal import Synchronization

/// Customers in memory, and the reads that are under way. One shard a partition, each behind a lock of its own.
///
/// How nothing outdated stays: the change feed tells of a holder's new revision after the store has it. `notice` marks
/// the entry, and also a read under way, which may have left before the change; a read that comes back with less is
/// repeated. When the feed lost its place, the epoch moves on: entries and reads of an earlier epoch may be outdated.
///
/// Outdated entries are not thrown away but stand by, in case the store cannot be read (invariant 5).
final class MemoryTier: Sendable {
    typealias Load = Task<Result<Entry, ReadFailure>, Never>

    /// Why an entry may not be what the store has, and since when.
    struct Doubt: Sendable, Hashable {
        enum Cause: Sendable {
            /// The store has something newer.
            case changed
            /// The feed lost its place: there may be something newer.
            case unknown
            /// The store lost data: the entry may be more than the store has.
            case orphaned
        }

        let cause: Cause
        let since: ContinuousClock.Instant
    }

    /// A customer in memory; without a doubt it is what the store has, as far as the feed tells.
    struct Entry: Sendable {
        let customer: CachedCustomer
        var doubt: Doubt?
    }

    private struct PendingLoad {
        let task: Load
        /// What the result must be at least.
        var revision: UInt64 = 0
    }

    private struct Shard {
        var entries: SieveCache<String, Entry>
        var loads: [String: PendingLoad] = [:]
        var epoch = 0
    }

    private final class LockedShard: Sendable {
        let state: Mutex<Shard>
        init(capacity: Int) { state = Mutex(Shard(entries: SieveCache(capacity: capacity))) }
    }

    private let shards: [LockedShard]
    private let metrics: CacheMetrics

    init(capacity: Int, metrics: CacheMetrics) {
        shards = (0..<StorageLayout.partitions).map { _ in LockedShard(capacity: capacity / StorageLayout.partitions) }
        self.metrics = metrics
    }

    private func shard(_ key: CustomerKey) -> LockedShard { shards[key.partition] }

    // MARK: Reading

    func find(_ key: CustomerKey) -> Entry? {
        shard(key).state.withLock { $0.entries.value(for: key.path) }
    }

    // MARK: Loading

    /// Joins the read of this customer that is under way, or starts it.
    func load(_ key: CustomerKey, _ start: () -> Load) -> Load {
        shard(key).state.withLock { shard in
            if let pending = shard.loads[key.path] { return pending.task }
            let task = start()
            shard.loads[key.path] = PendingLoad(task: task)
            return task
        }
    }

    func epoch(of key: CustomerKey) -> Int { shard(key).state.withLock { $0.epoch } }

    /// Ends a read with its result. Nil means that the result may be outdated already: it has to be read again.
    func finishLoad(_ read: CachedCustomer, isLastTry: Bool) -> Entry? {
        let key = read.key
        return shard(key).state.withLock { shard in
            let isOutdated = read.epoch != shard.epoch || read.revision < shard.loads[key.path]?.revision ?? 0
            guard !isOutdated || isLastTry else { return nil }
            shard.loads[key.path] = nil
            var entry = Entry(customer: read)
            // After several tries it is not kept, but it is still the best there is.
            guard !isOutdated else { return entry }
            if let old = shard.entries.peek(key.path), let doubt = old.doubt, doubt.cause == .orphaned,
                let joined = read.joined(with: old.customer)
            {
                entry = Entry(customer: joined, doubt: doubt)
            }
            let before = (shard.entries.cost, shard.entries.count, shard.entries.evictions)
            shard.entries.insert(entry, for: key.path, cost: entry.customer.cost)
            metrics.bytes.add(Double(shard.entries.cost - before.0))
            metrics.customers.add(Double(shard.entries.count - before.1))
            metrics.evictions.increment(by: UInt64(clamping: shard.entries.evictions - before.2))
            return entry
        }
    }

    func failLoad(_ key: CustomerKey) { shard(key).state.withLock { $0.loads[key.path] = nil } }

    // MARK: What the feed tells

    /// Takes note that the store has a holder at `revision`; returns the customer if its entry is outdated now.
    func notice(_ path: String, revision: UInt64) -> CustomerKey? {
        shards[StorageLayout.partition(of: path)].state.withLock { shard in
            if let pending = shard.loads[path], pending.revision < revision { shard.loads[path]?.revision = revision }
            guard var entry = shard.entries.peek(path) else { return nil }
            // Revisions of a store that is gone say nothing about those of its successor.
            if entry.doubt?.cause != .orphaned {
                guard entry.customer.revision < revision else { return nil }
                if entry.doubt == nil {
                    entry.doubt = Doubt(cause: .changed, since: .now)
                    shard.entries.update(entry, for: path)
                }
            }
            return entry.customer.key
        }
    }

    /// The feed lost its place: from now on only what is read anew is beyond doubt.
    func beginEpoch(lastHeard: ContinuousClock.Instant, storeWasReplaced: Bool) {
        let doubt = Doubt(cause: storeWasReplaced ? .orphaned : .unknown, since: lastHeard)
        for shard in shards {
            shard.state.withLock { shard in
                shard.epoch += 1
                shard.entries.updateAll { entry in
                    if entry.doubt == nil {
                        entry.doubt = doubt
                    } else if let old = entry.doubt, doubt.cause == .orphaned, old.cause != .orphaned {
                        entry.doubt = Doubt(cause: .orphaned, since: old.since)
                    }
                }
            }
        }
    }
}
