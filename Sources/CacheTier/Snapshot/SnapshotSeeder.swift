package import Entitlements
package import Redis
package import Runtime
internal import Time

/// Gives a store that lost its data what a snapshot has of it, a row after the other, by merging: whatever the store knows
/// by now stays, and is newer where it is. One does it at a time (a lease in the store); where it is lies in the store, so
/// it goes on there after an interruption, while another begins with its own first row. What was given back twice is the
/// same as once.
package struct SnapshotSeeder: Sendable {
    package enum Failure: Error, Sendable, CustomStringConvertible {
        case store(StoreError)
        case snapshot(SnapshotFailure)
        /// Somebody else goes on, as this one took too long.
        case leaseLost
        case interrupted

        package var description: String {
            switch self {
            case .store(let error): "\(error)"
            case .snapshot(let error): "\(error)"
            case .leaseLost: "another process has taken over"
            case .interrupted: "interrupted"
            }
        }

        /// Whether trying again later may do.
        package var isPassing: Bool {
            switch self {
            case .store(let error): error.isRetryable
            case .snapshot: false
            case .leaseLost, .interrupted: true
            }
        }
    }

    package struct Progress: Sendable, Hashable {
        package var rows: Int64 = 0
        package var lineages = 0
        /// Lineages that the store did not have so.
        package var changed = 0
        /// Rows that are not what was written, and records that this version cannot read.
        package var unreadable = 0
        /// Lineages of apps that the settings do not have.
        package var foreign = 0
        /// Product maps that were put back.
        package var maps = 0
        package var fraction = 0.0
    }

    package enum Outcome: Sendable, Hashable {
        case done(Progress)
        /// Another process is at it.
        case busy
    }

    package typealias Rows =
        @Sendable (_ after: String, _ limit: Int) async throws(SnapshotFailure) -> [SnapshotFile.Found]

    private let redis: any RedisCommands
    private let store: LineageStore
    private let apps: Set<AppID>
    private let rate: Int
    private let clock: WallClock
    private let leaseTime: Duration
    private let me = Lease.newOwner()

    /// - Parameters:
    ///   - store: With the rules of the apps, which decide who has what.
    ///   - rate: Lineages a second.
    package init(
        redis: any RedisCommands, store: LineageStore, apps: Set<AppID>, rate: Int, clock: WallClock = .system,
        leaseTime: Duration = .seconds(30)
    ) {
        self.redis = redis
        self.store = store
        self.apps = apps
        self.rate = max(1, rate)
        self.clock = clock
        self.leaseTime = leaseTime
    }

    /// Gives back what `rows` has of the store `former`, of which there are about `count`.
    package func run(
        _ former: SnapshotMeta.Former, count: Int64, maps: [AppID: PublishedProductMap], rows: Rows,
        progress: (Progress) -> Void = { _ in }
    ) async throws(Failure) -> Outcome {
        guard try await takeLease() else { return .busy }
        do {
            let done = try await give(former, count, maps, rows, progress)
            try await release()
            return .done(done)
        } catch {
            // Whoever comes next must not wait for the lease to run out; should that fail, it does.
            try? await release()
            throw error
        }
    }

    private func give(
        _ former: SnapshotMeta.Former, _ count: Int64, _ maps: [AppID: PublishedProductMap], _ rows: Rows,
        _ progress: (Progress) -> Void
    ) async throws(Failure) -> Progress {
        var state = Progress()
        for (app, map) in maps where apps.contains(app) {
            let isBack = try await stored { () async throws(StoreError) in
                try await ProductMapStore(redis: redis).restore(map, of: app)
            }
            if isBack { state.maps += 1 }
        }
        var cursor = SeedCursor(owner: me, former: former)
        if let text = try await cursorText(of: former.store) { cursor.resume(text) }
        while true {
            if Task.isCancelled { throw .interrupted }
            let began = ContinuousClock.now
            let before = state.lineages
            let page: [SnapshotFile.Found]
            do { page = try await rows(cursor.path, min(256, rate)) } catch { throw .snapshot(error) }
            guard let last = page.last else { break }
            try await give(page, &state)
            cursor.path = last.path
            cursor.isWhole = cursor.isWhole && state.unreadable == 0 && state.foreign == 0
            try await save(SeedNote.cursorField(former.store), cursor.text)
            state.fraction = min(1, Double(state.rows) / Double(max(1, count)))
            progress(state)
            try await wait(until: began + .seconds(Double(state.lineages - before) / Double(rate)), cursor, former)
        }
        var note = SeedNote(
            positions: former.positions, isComplete: former.isComplete && cursor.isWhole, finishedAt: clock.now())
        let before = try await stored { () async throws(StoreError) in
            try await SeedNote.read(of: former.store, from: redis)
        }
        if let before { note.add(before) }
        try await save(SeedNote.doneField(former.store), note.text)
        _ = try await stored { () async throws(StoreError) in
            try await StoreLink(redis: redis).send(
                "HDEL", StorageLayout.seedsKey, [.text(SeedNote.cursorField(former.store))])
        }
        state.fraction = 1
        progress(state)
        return state
    }

    /// Holds the rate; the lease is kept meanwhile, however long that is.
    private func wait(
        until end: ContinuousClock.Instant, _ cursor: SeedCursor, _ former: SnapshotMeta.Former
    ) async throws(Failure) {
        while true {
            let rest = end - .now
            guard rest > .zero else { return }
            do { try await Task.sleep(for: min(rest, leaseTime / 3)) } catch { throw .interrupted }
            if end > .now { try await save(SeedNote.cursorField(former.store), cursor.text) }
        }
    }

    private func give(_ page: [SnapshotFile.Found], _ state: inout Progress) async throws(Failure) {
        var records: [LineageRecord] = []
        for found in page {
            state.rows += 1
            guard let row = found.row, let owner = row.owner, let known = try? row.records() else {
                state.unreadable += 1
                continue
            }
            guard apps.contains(owner.app) else {
                state.foreign += known.count
                continue
            }
            records += known
        }
        let now = clock.now()
        let store = store
        let results = await withTaskGroup(of: Result<Bool, StoreError>.self) { group in
            var rest = records[...]
            func next() {
                guard let record = rest.popFirst() else { return }
                group.addTask {
                    do throws(StoreError) { return .success(try await store.merge(record, at: now).changed) } catch {
                        return .failure(error)
                    }
                }
            }
            for _ in 0..<32 { next() }
            var results: [Result<Bool, StoreError>] = []
            for await result in group {
                results.append(result)
                next()
            }
            return results
        }
        for result in results {
            state.lineages += 1
            switch result {
            case .success(let changed): if changed { state.changed += 1 }
            // What the store has of it is there, and newer.
            case .failure(.unreadable): state.unreadable += 1
            case .failure(let error): throw .store(error)
            }
        }
    }

    // MARK: The lease

    private var lease: Lease {
        Lease(redis: redis, key: StorageLayout.seedsLease, owner: me, time: leaseTime)
    }

    private func takeLease() async throws(Failure) -> Bool {
        do { return try await lease.take() } catch { throw .store(.redis(error)) }
    }

    private func save(_ field: String, _ value: String) async throws(Failure) {
        let isOurs: Bool
        do { isOurs = try await lease.write(field, Array(value.utf8), of: StorageLayout.seedsKey) } catch {
            throw .store(.redis(error))
        }
        if !isOurs { throw .leaseLost }
    }

    private func release() async throws(Failure) {
        do { try await lease.release() } catch { throw .store(.redis(error)) }
    }

    private func cursorText(of store: String) async throws(Failure) -> String? {
        try await stored { () async throws(StoreError) in
            try await StoreLink(redis: redis).send(
                "HGET", StorageLayout.seedsKey, [.text(SeedNote.cursorField(store))]
            ).string
        }
    }

    private func stored<Value>(_ body: () async throws(StoreError) -> Value) async throws(Failure) -> Value {
        do { return try await body() } catch { throw .store(error) }
    }
}
