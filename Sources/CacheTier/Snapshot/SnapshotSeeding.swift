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

    private func follow() async {
        // It was open for a while before this ran, and the snapshot may have been told so by the file.
        var owedSince: ContinuousClock.Instant? = snapshot.owesStore ? .now : nil
        while !Task.isCancelled {
            // Cancelled means draining, which the loop looks for next.
            try? await Task.sleep(for: every)
            guard let former = snapshot.state.now.meta?.former else {
                // Only now: what was joined with rows of the store that is gone is read again without them.
                if owedSince != nil { cache.storeWasRestored() }
                owedSince = nil
                continue
            }
            guard cache.isLive, snapshot.redis.isConnected else { continue }
            let since = owedSince ?? .now
            owedSince = since
            do throws(SnapshotSeeder.Failure) {
                if try await isSettled(former, since: since) {
                    log.info("the store has got back what it had lost", ["before": .init(former.store)])
                    snapshot.restored()
                } else if snapshot.settings.seeds {
                    try await seed(former)
                }
            } catch {
                log.warning("giving back to the store was interrupted", ["reason": .init(error)])
            }
        }
    }

    /// Whether the store has all that this snapshot, or a better one, could give it.
    private func isSettled(
        _ former: SnapshotMeta.Former, since: ContinuousClock.Instant
    ) async throws(SnapshotSeeder.Failure) -> Bool {
        let note: SeedNote?
        do { note = try await SeedNote.read(of: former.store, from: snapshot.redis) } catch { throw .store(error) }
        guard let note, note.covers(former.positions) else { return false }
        return note.isComplete || .now - since > patience
    }

    private func seed(_ former: SnapshotMeta.Former) async throws(SnapshotSeeder.Failure) {
        let note: SeedNote?
        do { note = try await SeedNote.read(of: former.store, from: snapshot.redis) } catch { throw .store(error) }
        // What this one has is there; it waits for one that lacks nothing.
        if let note, note.covers(former.positions) { return }
        let holders = snapshot.state.now.meta?.holders ?? 0
        log.info("giving back to the store what it lost", ["holders": .init(holders), "before": .init(former.store)])
        var told = ContinuousClock.now
        var last = SnapshotSeeder.Progress()
        let (snapshot, log) = (snapshot, log)
        let outcome = try await seeder.run(former, count: holders, maps: maps()) {
            (path, limit) throws(SnapshotFailure) in
            try await snapshot.reader.rows(after: path, limit: limit)
        } progress: { progress in
            snapshot.metrics.seeded.increment(by: UInt64(clamping: progress.lineages - last.lineages))
            snapshot.metrics.seededFraction.set(progress.fraction)
            last = progress
            guard .now - told > .seconds(10) else { return }
            told = .now
            log.info(
                "giving back to the store",
                ["percent": .init(Int(progress.fraction * 100)), "lineages": .init(progress.lineages)])
        }
        guard case .done(let done) = outcome else { return }
        log.info(
            "what the snapshot has was given back",
            [
                "lineages": .init(done.lineages), "changed": .init(done.changed),
                "unreadable": .init(done.unreadable), "foreign": .init(done.foreign), "maps": .init(done.maps),
            ])
    }

    // MARK: Service

    package func start() async { task.withLock { $0 = Task(name: "snapshot-seeding") { await follow() } } }

    package func drain() async {
        let task = task.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }
}
