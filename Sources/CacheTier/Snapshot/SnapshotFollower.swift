internal import Entitlements
internal import Redis
internal import Runtime
internal import Time

/// Brings to the snapshot what the change feed told: reads every changed holder, and writes the rows with the position of
/// the feed in one transaction. Beside that it fills a snapshot that is not complete.
///
/// There is one, and it reads a holder after it was told of it, so what it writes is never older than what it was told.
/// Every row is read over one connection, and which store is at its other end is asked behind each batch: an empty store
/// must not empty the snapshot.
final class SnapshotFollower: Sendable {
    let redis: any RedisLink
    private let queue: SnapshotQueue
    let state: SnapshotState
    let writer: SnapshotWriter
    private let reader: SnapshotReader
    private let settings: SnapshotSettings
    let metrics: SnapshotMetrics
    private let clock: WallClock
    let log: Log

    static let batch = 512
    /// A snapshot that was this far behind when the store lost its data counts as one that lacks nothing.
    private static let bearableLag = Duration.seconds(10)

    init(
        redis: any RedisLink, queue: SnapshotQueue, state: SnapshotState, writer: SnapshotWriter,
        reader: SnapshotReader, settings: SnapshotSettings, metrics: SnapshotMetrics, clock: WallClock, log: Log
    ) {
        self.redis = redis
        self.queue = queue
        self.state = state
        self.writer = writer
        self.reader = reader
        self.settings = settings
        self.metrics = metrics
        self.clock = clock
        self.log = log
    }

    enum Failure: Error {
        case store(StoreError)
        case snapshot(SnapshotFailure)
        /// At the other end is another store than the one that is followed; the feed will notice.
        case otherStore

        var description: String {
            switch self {
            case .store(let error): "\(error)"
            case .snapshot(let error): "\(error)"
            case .otherStore: "another store answers"
            }
        }
    }

    /// What belongs to the task that follows.
    struct Place {
        var fill = SnapshotFill.none
        /// The store that is followed, for when the file has to be begun anew.
        var store: String?
        var writtenHeard: ContinuousClock.Instant?
        var complaint = ""
        /// What the disk did not take; each is over when the same was written. While a disk is full, a place in the feed
        /// may still be written, and an empty round needs no writing at all.
        var hasRoundFailed = false
        var hasFillFailed = false
        /// How often in a row.
        var failures = 0
    }

    /// Follows until the task is cancelled.
    func follow() async {
        var place = Place()
        for await _ in queue.wakes {
            while !Task.isCancelled {
                let round = queue.takeRound()
                let writes = state.now.writes
                do throws(Failure) {
                    if let round {
                        try await carryOut(round, &place)
                        queue.finish(round)
                        if state.now.writes != writes { place.hasRoundFailed = false }
                    } else if try await fill(&place) {
                        if state.now.writes != writes { place.hasFillFailed = false }
                    } else {
                        break
                    }
                    if !place.hasRoundFailed, !place.hasFillFailed { follows(true, &place) }
                } catch {
                    if let round { queue.putBack(round) }
                    await failed(error, ofRound: round != nil, &place)
                }
                metrics.pending.set(Double(queue.count))
            }
        }
    }

    // MARK: Rounds

    private func carryOut(_ round: SnapshotQueue.Round, _ place: inout Place) async throws(Failure) {
        try await open(&place)
        if let begun = round.place {
            try await begin(begun, in: round, &place)
        } else if let restored = round.restored, restored == state.now.meta?.former {
            try await beginFill(&place, since: "the store has got back what it had lost") { $0.former = nil }
            metrics.owes.set(0)
        } else if state.now.meta?.store == nil, let store = place.store {
            // The file is a new one in the place of one that was damaged.
            let positions = round.positions ?? [StreamPosition](repeating: .beginning, count: StorageLayout.partitions)
            let begun = SnapshotQueue.Place(store: store, positions: positions, wasReplaced: false)
            try await begin(begun, in: round, &place)
        }
        guard let meta = state.now.meta, let store = meta.store else { return }
        place.store = store
        if round.lostChanges || (!meta.isComplete && place.fill.isNone) {
            try await beginFill(&place, since: round.lostChanges ? "more changes than can wait" : "it is not complete")
        }
        var rest = round.paths[...]
        repeat {
            let some = Array(rest.prefix(Self.batch))
            rest = rest.dropFirst(some.count)
            let rows = try await HolderRows(redis).read(some, of: store).compactMap(\.self)
            let isLast = rest.isEmpty
            let heard = isLast ? round.heard : nil
            let isDue = place.writtenHeard.map { .now - $0 >= settings.heardEvery } ?? true
            if rows.isEmpty, !(isLast && round.positions != nil && (isDue || !round.paths.isEmpty)) {
                state.update { $0.heard = heard ?? $0.heard }
                continue
            }
            let now = clock.now()
            try await write(rows) { meta in
                guard isLast else { return }
                if let positions = round.positions { meta.positions = positions }
                if heard != nil { meta.heard = now }
            }
            if isLast { place.writtenHeard = .now }
            state.update { $0.heard = heard ?? $0.heard }
        } while !rest.isEmpty
    }

    private func begin(_ begun: SnapshotQueue.Place, in round: SnapshotQueue.Round, _ place: inout Place)
        async throws(Failure)
    {
        let before = state.now
        let old = before.meta
        // Also when it is the same store in an older state, as after a backup was played back.
        let hasLost = begun.wasReplaced && old?.store != nil
        // Of what the feed told last, some may not have been read in time; that is little, unless the disk was full.
        let isCurrent =
            begun.heardBefore.map { newest in before.heard.map { newest - $0 < Self.bearableLag } ?? false } ?? true
        let lacksNothing = isCurrent && !round.lostChanges
        try await write([]) { meta in
            if hasLost, meta.former != nil {
                // A round that was interrupted begins at the same place again, which is no other loss.
                if meta.store != begun.store || meta.positions != begun.positions { meta.former?.losses &+= 1 }
            } else if hasLost, let store = meta.store {
                meta.former = SnapshotMeta.Former(
                    store: store, positions: meta.positions, isComplete: meta.isComplete && lacksNothing)
            }
            meta.unsweptHeard = meta.isComplete || meta.unsweptHeard == nil ? meta.heard : meta.unsweptHeard
            meta.isComplete = false
            meta.sweep &+= 1
            meta.store = begun.store
            meta.positions = begun.positions
        }
        state.update { state in
            if before.meta?.isComplete == true || state.unsweptHeard == nil { state.unsweptHeard = state.heard }
            state.heard = nil
        }
        if hasLost {
            log.error(
                "the store lost data: the snapshot keeps what it has",
                ["store": .init(begun.store), "before": .init(old?.store ?? "")])
        }
        metrics.owes.set(state.now.meta?.former == nil ? 0 : 1)
        place.fill = .scanning(newScan, connection: redis.connections)
        metrics.fills.increment()
        log.info("the snapshot is filled from the store", ["store": .init(begun.store)])
    }

    func write(
        _ rows: [SnapshotRow], _ change: @Sendable (inout SnapshotMeta) -> Void
    ) async throws(Failure) {
        // What a store had that is gone stays in the rows until it was given back.
        let joins = state.now.meta?.former != nil
        do {
            let meta = try await writer.write(rows, joining: joins, change)
            wrote(meta)
        } catch { throw .snapshot(error) }
    }

    func wrote(_ meta: SnapshotMeta) {
        state.update { state in
            state.meta = meta
            state.writes &+= 1
        }
    }

    // MARK: Trouble

    private func open(_ place: inout Place) async throws(Failure) {
        do throws(SnapshotFailure) {
            if state.now.isDamaged {
                place.store = state.now.meta?.store ?? place.store
                let opened = try await writer.replace(at: clock.now())
                await took(opened)
                state.update { state in
                    (state.isDamaged, state.heard, state.unsweptHeard) = (false, nil, nil)
                }
            } else {
                await took(try await writer.open(at: clock.now()))
            }
        } catch { throw .snapshot(error) }
    }

    func took(_ opened: SnapshotWriter.Opened) async {
        state.update { $0.meta = opened.meta }
        guard let (reason, path) = opened.setAside else { return }
        await reader.close()
        metrics.setAside.increment()
        log.error(
            "the snapshot could not be used and was set aside; another is filled from the store",
            ["reason": .init(reason), "path": .init(path)])
    }

    private func follows(_ isFollowing: Bool, _ place: inout Place) {
        metrics.isFollowing.set(isFollowing ? 1 : 0)
        let was = state.update { state in
            defer { state.isFollowing = isFollowing }
            return state.isFollowing
        }
        guard isFollowing, !was || !place.complaint.isEmpty else { return }
        if !place.complaint.isEmpty { log.info("the snapshot follows again") }
        place.complaint = ""
        place.failures = 0
    }

    private func failed(_ failure: Failure, ofRound isRound: Bool, _ place: inout Place) async {
        follows(false, &place)
        if case .snapshot(let error) = failure, error.isOfTheFile {
            metrics.damagedRows.increment()
            state.update { $0.isDamaged = true }
        }
        // A store that is away is the feed's to complain about.
        if case .snapshot(let error) = failure, place.complaint != "\(error)" {
            place.complaint = "\(error)"
            log.error("the snapshot is not followed; what is in it is still read", ["reason": .init(error)])
        }
        var pause = settings.pause / 4
        switch failure {
        case .store, .otherStore: _ = await redis.waitUntilConnected(within: settings.pause)
        case .snapshot:
            if isRound { place.hasRoundFailed = true } else { place.hasFillFailed = true }
            // With a pause of 2 s up to a minute.
            pause = min(pause * (1 << min(place.failures, 10)), settings.pause * 30)
            place.failures &+= 1
        }
        // Cancelled means draining, which the loop looks for next.
        try? await Task.sleep(for: pause)
        queue.wake()
    }
}
