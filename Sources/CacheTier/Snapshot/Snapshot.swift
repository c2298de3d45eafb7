internal import Entitlements
package import Redis
package import Runtime
internal import Synchronization
internal import Time

/// Every customer's view on the gateway's own disk, kept by following the change feed: what reads are answered from when
/// neither memory nor Redis can, also after a restart, and what a Redis that lost its data is filled from.
package final class Snapshot: Service {
    package let name = "snapshot"
    let settings: SnapshotSettings
    let state = SnapshotState()
    let reader: SnapshotReader
    let metrics: SnapshotMetrics
    let redis: any RedisLink
    private let queue: SnapshotQueue
    private let writer: SnapshotWriter
    private let follower: SnapshotFollower
    private let loops: [EventLoop]
    private let clock: WallClock
    private let log: Log
    private let hasDamagedRows = Atomic(false)
    private let tasks = Mutex<[Task<Void, Never>]>([])

    /// Makes its own link to Redis, and a thread each for writing and for reading.
    package init(
        settings: SnapshotSettings, redis: RedisConnector, metrics: Metrics, log: Log, clock: WallClock = .system
    ) throws(SystemError) {
        self.settings = settings
        self.clock = clock
        self.log = log.part("snapshot")
        self.metrics = SnapshotMetrics(metrics)
        let folder = SnapshotFolder(settings.folder, maximumPages: settings.maximumPages)
        self.redis = redis.link("snapshot")
        let writing = try EventLoop(name: "snapshot-write")
        let reading = try EventLoop(name: "snapshot-read")
        loops = [writing, reading]
        queue = SnapshotQueue(bound: settings.pendingBound)
        writer = SnapshotWriter(folder, loop: writing, metrics: self.metrics)
        reader = SnapshotReader(folder.file, loop: reading)
        follower = SnapshotFollower(
            redis: self.redis, queue: queue, state: state, writer: writer, reader: reader, settings: settings,
            metrics: self.metrics, clock: clock, log: self.log)
    }

    // MARK: The feed's side

    /// The store that was followed, and up to where; nil for a snapshot that has followed none.
    var place: (store: String, positions: [StreamPosition])? {
        guard let meta = state.now.meta, let store = meta.store else { return nil }
        return (store, meta.positions)
    }

    /// The feed begins anew at these positions of a store.
    func begin(_ store: String, _ positions: [StreamPosition], wasReplaced: Bool) {
        queue.begin(SnapshotQueue.Place(store: store, positions: positions, wasReplaced: wasReplaced))
    }

    /// The feed told that these holders changed; `heard` when there was nothing more.
    func take(_ paths: some Collection<String>, _ positions: [StreamPosition], heard: ContinuousClock.Instant?) {
        queue.take(paths, positions, heard: heard)
        let age = state.now.heard.map { .now - $0 } ?? .zero
        metrics.lag.set(age / .seconds(1))
    }

    /// The store has got back what it had lost: rows are what it has again, unless it lost data again since.
    func restored(_ former: SnapshotMeta.Former) { queue.restored(former) }

    // MARK: Reading

    /// Whether some rows are of a store that lost its data, which has not got them back yet.
    var owesStore: Bool { state.now.meta?.former != nil }

    /// When the feed was last heard, by the clock of then; also before this process began.
    var lastHeard: Timestamp? { state.now.meta?.heard }

    /// What the snapshot says of a customer.
    enum Sighting: Sendable {
        case found(SnapshotFound)
        /// It has everybody, and not this one.
        case never
        /// It cannot say: it lacks some, or could not be read.
        case silent
    }

    /// The customer as the snapshot has it.
    func find(_ key: CustomerKey) async -> Sighting {
        let found: SnapshotFile.Found?
        do { found = try await reader.find(key.path) } catch {
            failed(error)
            return .silent
        }
        guard let found else {
            metrics.unknown.increment()
            guard let meta = state.now.meta, meta.former?.isComplete ?? meta.isComplete else { return .silent }
            return .never
        }
        // What was told of while it was read is asked for after that.
        let isOutdated = queue.holds(key.path)
        guard let row = found.row, let records = try? row.records() else {
            metrics.damagedRows.increment()
            // Once: it may be asked for as often as anybody likes.
            if !hasDamagedRows.exchange(true, ordering: .relaxed) {
                log.error(
                    "a row of the snapshot cannot be read; it is read again from the store", ["path": .init(key.path)])
            }
            queue.refresh(key.path)
            return .silent
        }
        metrics.found.increment()
        let now = state.now
        let isSwept = now.meta?.isComplete == true || now.meta?.sweep == found.sweep
        let heard = isSwept ? now.heard : now.unsweptHeard
        return .found(
            SnapshotFound(
                revision: row.revision, records: records, storedBytes: row.fields.reduce(0) { $0 + $1.value.count },
                age: heard.map { .since($0) } ?? .unmeasured(now.meta?.heard(ofRowSwept: found.sweep)),
                isOutdated: isOutdated, isOrphaned: now.meta?.former != nil))
    }

    private func failed(_ failure: SnapshotFailure) {
        metrics.failed.increment()
        // A snapshot that was never begun, or is someone else's, has been complained of when it was opened.
        guard state.now.meta != nil else { return }
        let isNew = state.update { state in
            guard failure.isOfTheFile, !state.isDamaged else { return false }
            state.isDamaged = true
            return true
        }
        if isNew {
            log.error(
                "the snapshot is damaged; what can be read is served until the store can fill another",
                ["reason": .init(failure)])
        }
        queue.wake()
    }

    // MARK: Service

    /// Opens the file, which takes no longer for a million customers than for one; filling it goes on behind.
    package func start() async {
        do throws(SnapshotFailure) {
            await follower.took(try await writer.open(at: clock.now()))
            let meta = state.now.meta
            metrics.owes.set(meta?.former == nil ? 0 : 1)
            log.info(
                "the snapshot is open",
                [
                    "holders": .init(meta?.holders ?? 0), "complete": .init(meta?.isComplete ?? false),
                    "heard": .init(meta?.heard?.rfc3339 ?? "never"),
                ])
        } catch {
            log.error("the snapshot cannot be used", ["reason": .init(error)])
        }
        let (redis, follower) = (redis, follower)
        let task = Task(name: "snapshot") {
            // A Redis that cannot be reached holds up nobody who can be answered from the file.
            await redis.start()
            await follower.follow()
        }
        tasks.withLock { $0.append(task) }
    }

    package func drain() async {
        let tasks = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks { task.cancel() }
        queue.finish()
        await redis.close()
        for task in tasks { await task.value }
        await reader.close()
        await writer.close()
        for loop in loops { loop.stop() }
    }

}
