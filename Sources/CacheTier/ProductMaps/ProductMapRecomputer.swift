package import Entitlements
package import Redis
package import Runtime
package import Time

/// A customer whose answer another product map has changed.
package struct ProductMapChange: Sendable, Hashable {
    package let app: AppID
    package let environment: StoreEnvironment
    package let customer: String
    /// The map that did it.
    package let version: UInt64
    /// When it was published, which tells it from another of the same number: a Redis that lost its data counts anew.
    package let publishedAt: Timestamp
    package let gains: [String]
    package let losses: [String]
    package let at: Timestamp
}

/// Goes over every holder after a map was published, tells of those whose answer is another one, and has Apple asked about
/// the lineages that have to do with what changed (`ProductMapSweep`).
///
/// Answers themselves need none of it: they are computed when they are asked for. Where the walk is lies in Redis, so
/// whoever comes next goes on there; a lease sees to it that there is one at a time. What was told of since the last save
/// is told of again after an interruption.
package struct ProductMapRecomputer: Sendable {
    package enum Failure: Error, Sendable, CustomStringConvertible {
        case store(StoreError)
        case notAnnounced(String)
        /// Somebody else goes on, as this one took too long.
        case leaseLost
        /// The process ends; whoever comes next goes on.
        case ended

        package var description: String {
            switch self {
            case .store(let error): "\(error)"
            case .notAnnounced(let reason): "a change could not be announced: \(reason)"
            case .leaseLost: "another process has taken over"
            case .ended: "this process ends"
            }
        }
    }

    package enum Outcome: Sendable, Hashable {
        /// Nothing is left to do; what was done now.
        case done([Recomputation])
        /// Another process is at it.
        case busy(Recomputation)
    }

    package typealias Announce = @Sendable (ProductMapChange) async throws -> Void

    private let store: ProductMapStore
    private let redis: any RedisCommands
    private let settings: ProductMapSettings
    private let clock: WallClock
    private let announce: Announce
    private let keysAtOnce: Int
    private let leaseTime: Duration
    private let me = Lease.newOwner()

    package init(
        redis: any RedisCommands, settings: ProductMapSettings, clock: WallClock = .system, keysAtOnce: Int = 500,
        leaseTime: Duration = .seconds(30), announce: @escaping Announce
    ) {
        store = ProductMapStore(redis: redis)
        self.redis = redis
        self.settings = settings
        self.clock = clock
        self.keysAtOnce = keysAtOnce
        self.leaseTime = leaseTime
        self.announce = announce
    }

    /// Finishes what is left of all versions, the oldest first. `progress` hears of each step.
    package func run(
        _ app: AppID, policy: EvaluationPolicy, progress: (Recomputation) -> Void = { _ in }
    ) async throws(Failure) -> Outcome {
        var done: [Recomputation] = []
        while let next = try await unfinished(app) {
            try await waitUntilFollowed(next, of: app)
            guard try await takeLease(app) else { return .busy(next) }
            // What was left may be done by now.
            if let state = try await unfinished(app), state.version == next.version {
                do throws(Failure) {
                    let state = try await finish(state, app, policy, progress)
                    if state.isDone { done.append(state) }
                } catch {
                    // Best effort: it runs out by itself.
                    try? await releaseLease(app)
                    throw error
                }
            }
            try await releaseLease(app)
        }
        return .done(done)
    }

    /// The oldest version that is not done with.
    package func unfinished(_ app: AppID) async throws(Failure) -> Recomputation? {
        try await stored { () async throws(StoreError) in
            if let settings = try await store.settingsChange(of: app)?.recomputation, !settings.isDone {
                return settings
            }
            return try await store.versions(of: app).compactMap(\.recomputation).last { !$0.isDone }
        }
    }

    /// Whoever is told to read again must not be answered by the old map: every process that reaches Redis has the new one
    /// after two looks.
    private func waitUntilFollowed(_ state: Recomputation, of app: AppID) async throws(Failure) {
        guard state.cursor == HolderScan.beginning else { return }
        let map = try await stored { () async throws(StoreError) in try await store.version(state.version, of: app) }
        guard let map else { return }
        let patience = settings.followEvery * 2
        let rest = min(map.facts.publishedAt + patience - clock.now(), patience)
        // Cancelled early, the next command says what it thinks of it.
        if rest > .zero { try? await Task.sleep(for: rest) }
    }

    /// Notes which map the settings have; if it is another one than before and nothing is published, `run` tells of it.
    package func note(settings: ProductMapDocument, of app: AppID) async throws(Failure) {
        try await stored { () async throws(StoreError) in
            try await store.note(settings: settings, of: app, at: clock.now())
        }
    }

    // MARK: The walk

    private func finish(
        _ start: Recomputation, _ app: AppID, _ policy: EvaluationPolicy, _ progress: (Recomputation) -> Void
    ) async throws(Failure) -> Recomputation {
        let (old, published) = try await maps(of: start.version, app)
        let new = published.map
        let unmapped = UnmappedProducts(redis: redis)
        let sweep = ProductMapSweep(from: old, to: new, policy: policy)
        var state = start
        var scan = HolderScan(redis: redis, app: app, keysAtOnce: keysAtOnce)
        var isOurs = false
        repeat {
            if Task.isCancelled { throw .ended }
            let batch = try await stored { [cursor = state.cursor] () async throws(StoreError) in
                try await scan.batch(after: cursor)
            }
            let isBegun = state.cursor != HolderScan.beginning
            if isBegun, state.server != batch.server || state.server.isEmpty && !isOurs {
                // Another server walks in another order: what lies before the cursor there may not have been visited.
                isOurs = false
                state = Recomputation(version: start.version)
                scan = HolderScan(redis: redis, app: app, keysAtOnce: keysAtOnce)
                continue
            }
            let now = clock.now()
            let changes = take(batch, into: &state, app, from: old, to: published, policy, at: now)
            let swept = try await stored { () async throws(StoreError) in
                try await sweep.mark(batch.found, of: app, redis, clock)
            }
            for (environment, count) in swept { state[environment].swept &+= count }
            try await tell(changes.customers)
            for product in changes.unmapped {
                try await stored { () async throws(StoreError) in
                    try await unmapped.note(
                        product.id, of: app, in: product.environment, notifications: 0, at: now)
                }
            }
            (state.cursor, state.server, state.updatedAt) = (batch.cursor, batch.server, now)
            state.isDone = batch.isLast
            isOurs = true
            if state.isDone {
                try await stored { () async throws(StoreError) in try await unmapped.forget(knownTo: new, of: app) }
            }
            // The settings may have become a third map meanwhile: then this is not the end of it.
            let isOutdated = try await isOutdated(published, app)
            if isOutdated { state = Recomputation(version: 0) }
            try await save(state, app)
            progress(state)
            if isOutdated { return state }
        } while !state.isDone
        return state
    }

    private func maps(of version: UInt64, _ app: AppID) async throws(Failure) -> (ProductMap, PublishedProductMap) {
        try await stored { () async throws(StoreError) in
            if version == 0, let change = try await store.settingsChange(of: app) { return (change.old, change.new) }
            guard let new = try await store.version(version, of: app),
                let old = try await store.version(version &- 1, of: app)?.map
            else {
                throw .unreadable(
                    key: StorageLayout.productMaps(of: app),
                    reason: "version \(version) or the one before is not there",
                    isNewer: false)
            }
            return (old, new)
        }
    }

    private func isOutdated(_ map: PublishedProductMap, _ app: AppID) async throws(Failure) -> Bool {
        guard map.version == 0 else { return false }
        let change = try await stored { () async throws(StoreError) in try await store.settingsChange(of: app) }
        return change.map { $0.new.facts != map.facts } ?? false
    }

    private struct Unmapped: Hashable {
        let environment: StoreEnvironment
        let id: String
    }

    private func take(
        _ batch: HolderScan.Batch, into state: inout Recomputation, _ app: AppID, from old: ProductMap,
        to new: PublishedProductMap, _ policy: EvaluationPolicy, at now: Timestamp
    ) -> (customers: [ProductMapChange], unmapped: Set<Unmapped>) {
        var customers: [ProductMapChange] = []
        var unmapped: Set<Unmapped> = []
        state.unreadable &+= UInt64(batch.unreadable)
        for found in batch.found {
            let difference = ProductMapDifference(of: found.records, from: old, to: new.map, policy: policy, at: now)
            for id in difference.unmappedAfter { unmapped.insert(Unmapped(environment: found.environment, id: id)) }
            guard case .customer(let customer) = found.holder else { continue }
            state[found.environment].customers &+= 1
            if !difference.gains.isEmpty { state[found.environment].gained &+= 1 }
            if !difference.losses.isEmpty { state[found.environment].lost &+= 1 }
            guard difference.isChanged else { continue }
            state[found.environment].changed &+= 1
            customers.append(
                ProductMapChange(
                    app: app, environment: found.environment, customer: customer, version: state.version,
                    publishedAt: new.facts.publishedAt, gains: difference.gains, losses: difference.losses, at: now))
        }
        return (customers, unmapped)
    }

    /// Several at a time, as each waits for the broker's confirm.
    private func tell(_ changes: [ProductMapChange]) async throws(Failure) {
        let failure = await withTaskGroup(of: String?.self) { group in
            var rest = changes[...]
            var failure: String?
            func next() {
                guard failure == nil, let change = rest.popFirst() else { return }
                group.addTask {
                    do { try await announce(change) } catch { return "\(error)" }
                    return nil
                }
            }
            for _ in 0..<32 { next() }
            for await problem in group {
                failure = failure ?? problem
                next()
            }
            return failure
        }
        if let failure { throw .notAnnounced(failure) }
    }

    // MARK: The lease

    private func lease(_ app: AppID) -> Lease {
        Lease(redis: redis, key: StorageLayout.recomputeLease(of: app), owner: me, time: leaseTime)
    }

    private func takeLease(_ app: AppID) async throws(Failure) -> Bool {
        do { return try await lease(app).take() } catch { throw .store(.redis(error)) }
    }

    private func save(_ state: Recomputation, _ app: AppID) async throws(Failure) {
        let isOurs: Bool
        do {
            isOurs = try await lease(app).write(
                "r:\(state.version)", state.bytes, of: StorageLayout.productMaps(of: app))
        } catch { throw .store(.redis(error)) }
        if !isOurs { throw .leaseLost }
    }

    private func releaseLease(_ app: AppID) async throws(Failure) {
        do { try await lease(app).release() } catch { throw .store(.redis(error)) }
    }

    private func stored<Value>(_ body: () async throws(StoreError) -> Value) async throws(Failure) -> Value {
        do { return try await body() } catch { throw .store(error) }
    }
}
