internal import Runtime
internal import Synchronization
internal import Time

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
        enum Cause: Sendable, Hashable {
            /// The store has something newer.
            case changed
            /// The feed lost its place: there may be something newer.
            case unknown
            /// The store lost data: the entry may be more than the store has.
            case orphaned
            /// Nothing is known to be wrong with it, but its age.
            case aged
            /// Nobody knows for how long the feed has not been heard: it was another process that heard it, at this time.
            case unmeasured(Timestamp?)
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
        /// Those of whom the store has never heard, bounded by themselves: whoever asks for ids that nobody has, however
        /// often, drives out no customer.
        var unknown: SieveCache<String, Entry>
        var loads: [String: PendingLoad] = [:]
        var epoch = 0

        var size: (cost: Int, count: Int, evictions: Int) {
            (
                entries.cost + unknown.cost, entries.count + unknown.count,
                entries.evictions + unknown.evictions
            )
        }

        func peek(_ path: String) -> Entry? { entries.peek(path) ?? unknown.peek(path) }

        mutating func update(_ entry: Entry, for path: String) {
            entries.update(entry, for: path)
            unknown.update(entry, for: path)
        }

        mutating func updateAll(_ body: (inout Entry) -> Void) {
            entries.updateAll(body)
            unknown.updateAll(body)
        }
    }

    private final class LockedShard: Sendable {
        let state: Mutex<Shard>
        init(capacity: Int) {
            let forUnknown = capacity / MemoryTier.partOfUnknown
            state = Mutex(
                Shard(
                    entries: SieveCache(capacity: capacity - forUnknown),
                    unknown: SieveCache(capacity: forUnknown)))
        }
    }

    /// One part in so many is for customers nobody knows.
    static let partOfUnknown = 16

    private let shards: [LockedShard]
    private let metrics: CacheMetrics

    init(capacity: Int, metrics: CacheMetrics) {
        shards = (0..<StorageLayout.partitions).map { _ in LockedShard(capacity: capacity / StorageLayout.partitions) }
        self.metrics = metrics
    }

    private func shard(_ key: CustomerKey) -> LockedShard { shards[key.partition] }

    // MARK: Reading

    func find(_ key: CustomerKey) -> Entry? {
        shard(key).state.withLock { shard in
            shard.entries.value(for: key.path) ?? shard.unknown.value(for: key.path)
        }
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
    ///
    /// `former` is what the snapshot has of a customer whose store lost data.
    func finishLoad(_ read: CachedCustomer, isLastTry: Bool, former: Entry? = nil) -> Entry? {
        let key = read.key
        return shard(key).state.withLock { shard in
            let isOutdated = read.epoch != shard.epoch || read.revision < shard.loads[key.path]?.revision ?? 0
            guard !isOutdated || isLastTry else { return nil }
            shard.loads[key.path] = nil
            var entry = Entry(customer: read)
            if let former, let joined = read.joined(with: former.customer) {
                entry = Entry(customer: joined, doubt: former.doubt)
            }
            // After several tries it is not kept, but it is still the best there is.
            guard !isOutdated else { return entry }
            if let old = shard.peek(key.path), let doubt = old.doubt, doubt.cause == .orphaned,
                let joined = entry.customer.joined(with: old.customer)
            {
                entry = Entry(customer: joined, doubt: doubt)
            }
            insert(entry, into: &shard)
            return entry
        }
    }

    private func insert(_ entry: Entry, into shard: inout Shard) {
        let (path, cost, before) = (entry.customer.key.path, entry.customer.cost, shard.size)
        if entry.customer.isUnknown {
            shard.entries.remove(path)
            shard.unknown.insert(entry, for: path, cost: cost)
        } else {
            shard.unknown.remove(path)
            shard.entries.insert(entry, for: path, cost: cost)
        }
        let now = shard.size
        metrics.bytes.add(Double(now.cost - before.cost))
        metrics.customers.add(Double(now.count - before.count))
        metrics.evictions.increment(by: UInt64(clamping: now.evictions - before.evictions))
    }

    /// Takes in what the snapshot has, unless there is an entry already; returns what is there then. It must be in doubt,
    /// so that it gives way to what the store says.
    func standBy(_ entry: Entry) -> Entry {
        shard(entry.customer.key).state.withLock { shard in
            let path = entry.customer.key.path
            if let present = shard.entries.value(for: path) ?? shard.unknown.value(for: path) { return present }
            insert(entry, into: &shard)
            return entry
        }
    }

    func failLoad(_ key: CustomerKey) { shard(key).state.withLock { $0.loads[key.path] = nil } }

    // MARK: What the feed tells

    /// Takes note that the store has a holder at `revision`; returns the customer if its entry is outdated now.
    func notice(_ path: String, revision: UInt64) -> CustomerKey? {
        shards[StorageLayout.partition(of: path)].state.withLock { shard in
            if let pending = shard.loads[path], pending.revision < revision { shard.loads[path]?.revision = revision }
            guard var entry = shard.peek(path) else { return nil }
            // Revisions of a store that is gone say nothing about those of its successor.
            if entry.doubt?.cause != .orphaned {
                guard entry.customer.revision < revision else { return nil }
                if entry.doubt == nil {
                    entry.doubt = Doubt(cause: .changed, since: .now)
                    shard.update(entry, for: path)
                }
            }
            return entry.customer.key
        }
    }

    /// The store has got back what it had lost: everything is to be read again, and nothing of before counts then.
    func endReplacement() {
        for shard in shards {
            shard.state.withLock { shard in
                shard.epoch += 1
                shard.updateAll { entry in
                    entry.doubt = Doubt(cause: .unknown, since: entry.doubt?.since ?? entry.customer.readAt)
                }
            }
        }
    }

    /// The feed lost its place: from now on only what is read anew is beyond doubt.
    func beginEpoch(lastHeard: ContinuousClock.Instant, storeWasReplaced: Bool) {
        let doubt = Doubt(cause: storeWasReplaced ? .orphaned : .unknown, since: lastHeard)
        for shard in shards {
            shard.state.withLock { shard in
                shard.epoch += 1
                shard.updateAll { entry in
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
