package import AppStore
package import Entitlements
package import Redis
package import Runtime
internal import Synchronization
package import Time

/// Answers what a customer has: from memory while that is known to be what Redis has, else from Redis; and when Redis
/// cannot be reached, from memory all the same, or from the snapshot on the disk. Every answer is evaluated at the instant asked for (invariant 9).
package final class EntitlementCache: Service {
    package let name = "entitlement-cache"
    private let settings: CacheSettings
    /// What answers say that were read from the store.
    private let storeSource: Answer.Source
    private let rules: [AppID: AppRules]
    private let maps: (any ProductMapSource)?
    private let clock: WallClock
    private let redis: any RedisLink
    private let feedConnection: any RedisLink
    private let layout: LayoutGuard
    private let reader: CustomerReader
    private let memory: MemoryTier
    private let snapshot: Snapshot?
    private let status = FeedStatus()
    private let metrics: CacheMetrics
    private let log: Log
    private let feedTask = Mutex<Task<Void, Never>?>(nil)
    /// Over which connections each partition's server was last seen to be of the same store: behind a new one may be
    /// another server, and what it has is more than nothing as soon as somebody has written.
    private let identified = Mutex<[Int: Int]>([:])
    private let health = Mutex<[Store: AppleHealth]>([:])
    /// Whether it is fine everywhere, as it mostly is: then no read takes the lock.
    private let isAppleFine = Atomic(true)

    private struct Store: Hashable {
        let app: AppID
        let environment: StoreEnvironment
    }

    /// Makes its own two connections to Redis: one to read customers, and one on which the feed waits for changes.
    /// Where `maps` knows an app, its map counts and not that of the rules. The snapshot is started and drained here.
    package init(
        settings: CacheSettings, redis: RedisConnector, rules: [AppID: AppRules],
        maps: (any ProductMapSource)? = nil, snapshot: Snapshot? = nil, storeSource: Answer.Source = .redis,
        metrics: Metrics, log: Log,
        clock: WallClock = .system
    ) {
        self.storeSource = storeSource
        self.settings = settings
        self.rules = rules
        self.maps = maps
        self.snapshot = snapshot
        self.clock = clock
        self.log = log.part("cache")
        self.metrics = CacheMetrics(metrics)
        self.redis = redis.link("cache")
        feedConnection = redis.link("feed")
        layout = LayoutGuard(redis: self.redis)
        reader = CustomerReader(redis: self.redis)
        memory = MemoryTier(capacity: settings.memoryBytes, metrics: self.metrics)
    }

    // MARK: Reading

    /// The answer if memory can give it without asking anybody; from any thread, without waiting.
    ///
    /// While Redis is connected, only what is known to be what Redis has is answered this way; anything else is worth
    /// asking Redis for (`load`).
    package func answer(for key: CustomerKey, at instant: Timestamp) -> Answer? {
        answerable(key).map { answer($0, from: .memory, at: instant) }
    }

    /// What memory has, if it can answer without anybody else.
    func answerable(_ key: CustomerKey) -> MemoryTier.Entry? {
        guard let entry = memory.find(key) else { return nil }
        if redis.isConnected {
            guard entry.doubt == nil, isLive(entry.customer) else { return nil }
            metrics.hits.increment()
        } else {
            metrics.fallbacks.increment()
        }
        return entry
    }

    /// What memory has, however doubtful.
    func inMemory(_ key: CustomerKey) -> MemoryTier.Entry? { memory.find(key) }

    /// The answer, read from Redis if memory cannot give it. However many ask for a customer, one read is made.
    ///
    /// A customer nobody knows has an empty answer; when nobody can say, this throws. Without an instant it is about the
    /// one at which it is given, and not the one at which it was asked for (invariant 9).
    package func load(_ key: CustomerKey, at instant: Timestamp? = nil) async throws(ReadFailure) -> Answer {
        if let answer = answer(for: key, at: instant ?? clock.now()) { return answer }
        let (entry, source) = try await entry(for: key)
        return answer(entry, from: source, at: instant ?? clock.now())
    }

    /// The same once the caller has changed the customer to `revision` itself: the answer is not older than that while
    /// Redis can be reached, whether or not the feed has told of it yet.
    package func load(
        _ key: CustomerKey, at instant: Timestamp, changedTo revision: UInt64
    ) async throws(ReadFailure) -> Answer {
        _ = memory.notice(key.path, revision: revision)
        if let answer = answer(for: key, at: instant) { return answer }
        let (entry, source) = try await entry(for: key, isPatient: true)
        return answer(entry, from: source, at: instant)
    }

    /// Why the customer has or lacks an entitlement (or anything, when none is named), and the answer it explains.
    ///
    /// `histories` gives what was noted of the customer's lineages; nil tells nothing of it.
    package func explain(
        _ entitlement: String?, of key: CustomerKey, at instant: Timestamp,
        histories: (@Sendable ([LineageID]) async -> [LineageID: [HistoryEntry]]?)? = nil
    ) async throws(ReadFailure) -> (Explanation, Answer) {
        let (entry, source) = try await entry(for: key)
        let noted = await histories?(entry.customer.records.map(\.lineage))
        let rules = rulesInForce(for: key.app)
        let explanation = Explanation(
            of: entry.customer.records, entitlement: entitlement, at: instant, map: rules.map.map,
            policy: rules.policy, histories: noted ?? nil)
        return (explanation, answer(entry, from: source, at: instant))
    }

    /// From Redis; when that fails or takes long, what memory still has, or what the snapshot has.
    func entry(
        for key: CustomerKey, isPatient: Bool = false
    ) async throws(ReadFailure) -> (MemoryTier.Entry, Answer.Source) {
        let load = read(key)
        // Without a connection it fails at once.
        let limit = isPatient || !redis.isConnected ? nil : snapshot?.settings.patience
        let result =
            if let limit { await Patience.wait(limit, for: { await load.value }) } else { await load.value }
        switch result {
        case .success(let entry)?:
            metrics.misses.increment()
            return (entry, storeSource)
        case .failure(let failure)?:
            guard let found = await fallback(key) else { throw failure }
            return found
        case nil:
            if let found = await fallback(key) { return found }
            // Nobody else knows the customer, so Redis is waited for after all.
            return (try await load.value.get(), storeSource)
        }
    }

    private func fallback(_ key: CustomerKey) async -> (MemoryTier.Entry, Answer.Source)? {
        if let entry = memory.find(key) {
            metrics.fallbacks.increment()
            return (entry, .memory)
        }
        guard let entry = await kept(key) else { return nil }
        metrics.snapshots.increment()
        // For whoever asks next; should a read have come back meanwhile, that is better.
        let standing = memory.standBy(entry)
        return (standing, standing.customer === entry.customer ? .snapshot : .memory)
    }

    /// The customer as the snapshot has it, with its doubt.
    private func kept(_ key: CustomerKey) async -> MemoryTier.Entry? {
        guard let snapshot, case .found(let found) = await snapshot.find(key) else { return nil }
        return entry(found, of: key)
    }

    private func entry(_ found: SnapshotFound, of key: CustomerKey) -> MemoryTier.Entry {
        let doubt: MemoryTier.Doubt
        switch found.age {
        case .since(let instant):
            let cause: MemoryTier.Doubt.Cause =
                found.isOrphaned || status.now.storeReplaced != nil ? .orphaned : found.isOutdated ? .changed : .aged
            doubt = MemoryTier.Doubt(cause: cause, since: instant)
        case .unmeasured(let heard): doubt = MemoryTier.Doubt(cause: .unmeasured(heard), since: .now)
        }
        let customer = CachedCustomer(
            key: key, revision: found.revision, records: found.records, readAt: doubt.since,
            epoch: memory.epoch(of: key), storedBytes: found.storedBytes)
        return MemoryTier.Entry(customer: customer, doubt: doubt)
    }

    /// By which map and policy an app's answers are made at this moment.
    private func rulesInForce(for app: AppID) -> (map: ProductMapInForce, policy: EvaluationPolicy) {
        let rules = rules[app] ?? AppRules()
        return (maps?.current(of: app) ?? ProductMapInForce(map: rules.products, generation: 0), rules.policy)
    }

    /// Tells how Apple's API does for an app; fine until told otherwise.
    package func report(_ health: AppleHealth, for app: AppID, _ environment: StoreEnvironment) {
        self.health.withLock { known in
            known[Store(app: app, environment: environment)] = health == .fine ? nil : health
            isAppleFine.store(known.isEmpty, ordering: .releasing)
        }
    }

    /// Whether the change feed is followed without delay.
    package var isLive: Bool {
        status.now.lastHeard.map { .now - $0 <= settings.liveFor } ?? false
    }

    /// The store has got back what it had lost: answers are without that reserve, and everything is read again.
    func storeWasRestored() {
        status.storeWasRestored()
        memory.endReplacement()
    }

    private func isLive(_ customer: CachedCustomer) -> Bool {
        .now - max(customer.readAt, status.now.lastHeard ?? customer.readAt) <= settings.liveFor
    }

    func answer(_ entry: MemoryTier.Entry, from source: Answer.Source, at instant: Timestamp) -> Answer {
        let customer = entry.customer
        let feed = status.now
        let now = ContinuousClock.now
        let wallNow = clock.now()
        // Without a doubt, all that the feed told of until it was last heard has been taken in.
        let knownAt = entry.doubt?.since ?? max(customer.readAt, feed.lastHeard ?? customer.readAt)
        var cause: ServiceReason? =
            switch entry.doubt?.cause {
            case .changed: .changePending
            case .unknown: .storeSilent
            case .orphaned: .storeReplaced
            case .aged, .unmeasured, nil: nil
            }
        if cause == nil, let replaced = feed.storeReplaced, now - replaced < settings.staleBound {
            cause = .storeReplaced
        }
        var asOf = wallNow - (now - knownAt)
        var store = ServiceGrade.store(
            age: now - knownAt, cause: cause, liveFor: settings.liveFor, staleBound: settings.staleBound)
        if case .unmeasured(let heard) = entry.doubt?.cause {
            // By a clock that may have been set since: good enough to be shown, and not to be trusted.
            asOf = heard ?? Timestamp(milliseconds: 0)
            store = ServiceGrade(.b, cause ?? .storeSilentTooLong)
        }
        let grade = ServiceGrade.worse(store, apple(of: customer.key.app, customer.key.environment).grade)
        let rules = rulesInForce(for: customer.key.app)
        let view = customer.view(
            at: instant, map: rules.map, policy: rules.policy,
            isAboutNow: abs(instant.milliseconds &- wallNow.milliseconds) < 2000)
        return Answer(
            key: customer.key, revision: customer.revision, level: grade.level, reason: grade.reason, source: source,
            asOf: asOf, evaluation: view.evaluation, fragment: view.fragment)
    }

    private func apple(of app: AppID, _ environment: StoreEnvironment) -> AppleHealth {
        if isAppleFine.load(ordering: .acquiring) { return .fine }
        return health.withLock { $0[Store(app: app, environment: environment)] ?? .fine }
    }

    /// How good no answer is: for a customer of whom nothing was ever heard while Redis cannot be asked.
    package func silence(about key: CustomerKey) -> Silence {
        let now = ContinuousClock.now
        let heard = status.now.lastHeard
        let isReplaced = snapshot?.owesStore == true || status.now.storeReplaced != nil
        let store =
            heard.map {
                ServiceGrade.store(
                    age: now - $0, cause: isReplaced ? .storeReplaced : .storeSilent, liveFor: settings.liveFor,
                    staleBound: settings.staleBound)
            } ?? ServiceGrade(.b, .storeSilentTooLong)
        let grade = ServiceGrade.worse(store, apple(of: key.app, key.environment).grade)
        return Silence(
            level: grade.level, reason: grade.reason,
            asOf: heard.map { clock.now() - (now - $0) } ?? snapshot?.lastHeard)
    }

    /// How good it is what somebody just read from Redis by a command that was sent at `readAt`.
    package func note(
        ofReadAt readAt: ContinuousClock.Instant, app: AppID, environment: StoreEnvironment
    ) -> StoreReadNote {
        let now = ContinuousClock.now
        let isReplaced = status.now.storeReplaced.map { now - $0 < settings.staleBound } ?? false
        let store = ServiceGrade.store(
            age: now - readAt, cause: isReplaced ? .storeReplaced : nil, liveFor: settings.liveFor,
            staleBound: settings.staleBound)
        let grade = ServiceGrade.worse(store, apple(of: app, environment).grade)
        return StoreReadNote(level: grade.level, reason: grade.reason, asOf: clock.now() - (now - readAt))
    }

    // MARK: Redis

    private func read(_ key: CustomerKey) -> MemoryTier.Load {
        memory.load(key) { Task(name: "load-customer") { await self.readUntilCurrent(key) } }
    }

    /// Reads until nothing happened in between that the result might lack.
    private func readUntilCurrent(_ key: CustomerKey) async -> Result<MemoryTier.Entry, ReadFailure> {
        var triesLeft = 8
        while true {
            let epoch = memory.epoch(of: key)
            do throws(StoreError) {
                let customer = try await readOnce(key, epoch: epoch)
                metrics.loads.increment()
                triesLeft -= 1
                // Until a store that lost data has got it back, what the snapshot has of it is the customer's, too.
                let isOwed = snapshot?.owesStore == true || status.now.storeReplaced != nil
                var former: MemoryTier.Entry?
                if isOwed, let snapshot {
                    switch await snapshot.find(key) {
                    case .found(let found): former = entry(found, of: key)
                    case .never: break
                    case .silent:
                        // Nothing is an answer only where somebody knows that there was nothing.
                        guard !customer.isUnknown || memory.find(key)?.customer.isUnknown == false else {
                            memory.failLoad(key)
                            metrics.failedLoads.increment()
                            return .failure(.storeLacksData)
                        }
                    }
                }
                if let entry = memory.finishLoad(customer, isLastTry: triesLeft == 0, former: former) {
                    return .success(entry)
                }
                metrics.repeatedLoads.increment()
            } catch {
                memory.failLoad(key)
                metrics.failedLoads.increment()
                switch error {
                case .redis(let cause) where cause.isRetryable || cause.code == .closed:
                    return .failure(.storeUnreachable("\(cause)"))
                default:
                    log.error("a customer cannot be read", ["key": .init(key), "reason": .init(error)])
                    return .failure(.storeUnreadable("\(error)"))
                }
            }
        }
    }

    private func readOnce(_ key: CustomerKey, epoch: Int) async throws(StoreError) -> CachedCustomer {
        try await layout.verify()
        let sent = ContinuousClock.now
        let connections = redis.connections
        let stored = try await reader.read(key)
        // Nothing may mean that nothing was bought, or that the store was emptied a moment ago. Before the feed has its
        // place, it may have been emptied while this process was not there.
        let lacksWhatItHad =
            memory.find(key).map { entry in
                // Revisions of an earlier epoch may be those of another store.
                entry.customer.epoch == epoch && entry.doubt?.cause != .orphaned
                    && entry.customer.revision > stored.revision
            } ?? false
        // Revisions only rise: where one has fallen, a server took over that lacks what another had answered.
        let wasReplaced =
            if lacksWhatItHad {
                true
            } else if stored.isEmpty || !status.now.isPlaced
                || identified.withLock({ $0[key.partition] }) != connections
            {
                try await !layout.isSameStore(at: key.partition)
            } else { false }
        identified.withLock { $0[key.partition] = connections }
        if wasReplaced {
            status.storeWasReplaced()
            // At once, and not when the feed notices: until then an empty read would take the place of what memory has.
            memory.beginEpoch(lastHeard: status.now.lastHeard ?? sent, storeWasReplaced: true)
        }
        return CachedCustomer(
            key: key, revision: stored.revision, records: stored.records, readAt: sent, epoch: epoch,
            storedBytes: stored.bytes)
    }

    /// Reads changed customers again, so that memory has them should Redis be lost next; returns those that failed.
    private func refresh(_ keys: Set<CustomerKey>) async -> Set<CustomerKey> {
        var rest = keys.makeIterator()
        return await withTaskGroup(of: CustomerKey?.self) { group in
            func readNext() {
                guard let key = rest.next() else { return }
                group.addTask {
                    if case .failure(.storeUnreachable) = await self.read(key).value { key } else { nil }
                }
            }
            for _ in 0..<settings.refreshesAtOnce { readNext() }
            var failed: Set<CustomerKey> = []
            for await key in group {
                if let key { failed.insert(key) }
                readNext()
            }
            return failed
        }
    }

    // MARK: Service

    package func start() async {
        if let snapshot {
            await snapshot.start()
            if let place = snapshot.place { layout.expect(place.store) }
            if snapshot.owesStore { status.storeWasReplaced() }
        }
        await redis.start()
        await feedConnection.start()
        let feed = ChangeFeed(
            redis: feedConnection, layout: layout, settings: settings, memory: memory, status: status,
            snapshot: snapshot,
            metrics: metrics, log: log, refresh: { [weak self] keys in await self?.refresh(keys) ?? [] })
        feedTask.withLock { $0 = Task(name: "change-feed") { await feed.follow() } }
    }

    package func drain() async {
        let task = feedTask.withLock { $0.take() }
        task?.cancel()
        await feedConnection.close()
        await task?.value
        await redis.drain()
        await snapshot?.drain()
    }
}
