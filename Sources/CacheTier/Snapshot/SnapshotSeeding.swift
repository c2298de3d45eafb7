package import Entitlements
internal import Redis
package import Runtime
internal import Synchronization

/// Sees to it that a store which lost its data gets back what this gateway's snapshot has of it, and ends the reserve under
/// which answers stand until then.
package final class SnapshotSeeding: Service {
    package let name = "snapshot-seeding"
    private let snapshot: Snapshot
    private let cache: EntitlementCache
    private let seeder: SnapshotSeeder
    private let maps: @Sendable () -> [AppID: PublishedProductMap]
    private let every: Duration
    private let patience: Duration
    private let log: Log
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameters:
    ///   - maps: The product maps that count, which are given back first.
    ///   - patience: How long a snapshot that lacked holders waits for one that did not.
    package init(
        snapshot: Snapshot, cache: EntitlementCache, store: LineageStore, apps: Set<AppID>,
        maps: @escaping @Sendable () -> [AppID: PublishedProductMap], patience: Duration,
        every: Duration = .seconds(1), log: Log
    ) {
        self.snapshot = snapshot
        self.cache = cache
        self.maps = maps
        self.every = every
        self.patience = patience
        self.log = log.part("snapshot")
        seeder = SnapshotSeeder(
            redis: snapshot.redis, store: store, apps: apps, rate: snapshot.settings.seedRate)
    }

    /// What the task that follows knows of what it did.
    private struct Deeds {
        /// Since when something is owed.
        var owedSince: ContinuousClock.Instant?
        /// What was given back by this one.
        var given: SnapshotMeta.Former?
        /// Of what was said that the store has it.
        var told: SnapshotMeta.Former?
    }

    private func follow() async {
        // It was open for a while before this ran, and the snapshot may have been told so by the file.
        var deeds = Deeds(owedSince: snapshot.owesStore ? .now : nil)
        while !Task.isCancelled {
            // Cancelled means draining, which the loop looks for next.
            try? await Task.sleep(for: every)
            guard let former = snapshot.state.now.meta?.former else {
                // Only now: what was joined with rows of the store that is gone is read again without them.
                if deeds.owedSince != nil { cache.storeWasRestored() }
                deeds = Deeds()
                continue
            }
            guard cache.isLive, snapshot.redis.isConnected else { continue }
            deeds.owedSince = deeds.owedSince ?? .now
            do throws(SnapshotSeeder.Failure) { try await look(after: former, &deeds) } catch {
                log.warning("giving back to the store was interrupted", ["reason": .init(error)])
            }
        }
    }

    /// One look at what the store has got back. What the rows have is forgotten only after they were given, or when the
    /// store has all of it from a snapshot that lacked nothing.
    private func look(after former: SnapshotMeta.Former, _ deeds: inout Deeds) async throws(SnapshotSeeder.Failure) {
        let note: SeedNote?
        do { note = try await SeedNote.read(of: former.store, from: snapshot.redis) } catch { throw .store(error) }
        // Where nothing is noted any more, what was given is gone as well.
        let isGiven = deeds.given == former && note != nil
        if !isGiven {
            let covers = note?.covers(former.positions) == true
            // A note of what was lost first cannot tell of what came before the next loss.
            guard covers, note?.isComplete == true, former.losses == 1 else {
                // Where it is left to the operator, the note is what tells that they have done it.
                if snapshot.settings.seeds || covers, try await seed(former) { deeds.given = former }
                return
            }
        } else if note?.isComplete != true, let since = deeds.owedSince, .now - since <= patience {
            // What this one has is there; it waits for one that lacks nothing.
            return
        }
        if deeds.told != former { log.info("the store has got back what it had lost", ["before": .init(former.store)]) }
        deeds.told = former
        snapshot.restored(former)
    }

    /// Gives the own rows; false when another is at it.
    private func seed(_ former: SnapshotMeta.Former) async throws(SnapshotSeeder.Failure) -> Bool {
        let holders = snapshot.state.now.meta?.holders ?? 0
        var told = ContinuousClock.now
        var last = SnapshotSeeder.Progress()
        let (snapshot, log) = (snapshot, log)
        let outcome = try await seeder.run(former, count: holders, maps: maps()) {
            (path, limit) throws(SnapshotFailure) in
            try await snapshot.reader.rows(after: path, limit: limit)
        } progress: { progress in
            if last.rows == 0 {
                log.info(
                    "giving back to the store what it lost",
                    ["holders": .init(holders), "before": .init(former.store)])
            }
            snapshot.metrics.seeded.increment(by: UInt64(clamping: progress.lineages - last.lineages))
            snapshot.metrics.seededFraction.set(progress.fraction)
            last = progress
            guard .now - told > .seconds(10) else { return }
            told = .now
            log.info(
                "giving back to the store",
                ["percent": .init(Int(progress.fraction * 100)), "lineages": .init(progress.lineages)])
        }
        guard case .done(let done) = outcome else { return false }
        log.info(
            "what the snapshot has was given back",
            [
                "lineages": .init(done.lineages), "changed": .init(done.changed),
                "unreadable": .init(done.unreadable), "foreign": .init(done.foreign), "maps": .init(done.maps),
            ])
        return true
    }

    // MARK: Service

    package func start() async { task.withLock { $0 = Task(name: "snapshot-seeding") { await follow() } } }

    package func drain() async {
        let task = task.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }
}
