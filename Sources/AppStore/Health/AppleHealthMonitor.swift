package import Entitlements
package import Runtime
internal import Synchronization
package import Time

/// Knows how Apple's API does, for each app and environment, from every call that this process makes, and from probes
/// while it makes none. Whoever asks gets an answer at once: nothing here waits for Apple but the probes themselves.
///
/// ```swift
/// let health = AppleHealthMonitor(settings: settings, metrics: metrics, log: log)
/// health.note(outcome, app: app, environment: .production)     // what `ServerAPIClient` says (`AppleClients`)
/// health.health(of: app, .production)                          // .fine
/// for await change in health.changes() where change.to == .fine, change.outageBegan != nil { … }
/// ```
///
/// Ages are by the monotonic clock; the wall clock only says when something was, for people and for what asks Apple
/// about a time.
package final class AppleHealthMonitor: Service {
    package let name = "apple-health"
    package let settings: AppleHealthSettings
    private let clock: WallClock
    private let metrics: AppleHealthMetrics
    private let log: Log
    private let state = Mutex(State())

    private struct State {
        var subjects: [AppleStore: Subject] = [:]
        /// Newest last.
        var changes: [Change] = []
        var lastNumber: UInt64 = 0
        var listeners: [UInt64: AsyncStream<Change>.Continuation] = [:]
        var lastListener: UInt64 = 0
        var loops: [Task<Void, Never>] = []
        var isDraining = false
    }

    private struct Subject {
        var tracker: AppleHealthTracker
        var schedule: ProbeSchedule
        var probe: (@Sendable () async -> Void)?
        /// What the wait for the next probe is cut short by.
        var alarm: Task<Void, Never>?
        var lastChange: Change?
        /// Since when Apple has refused the key; by the monotonic clock.
        var keyRefusedAt: ContinuousClock.Instant?
    }

    package init(
        settings: AppleHealthSettings = AppleHealthSettings(), metrics: Metrics = Metrics(), log: Log = .discarding,
        clock: WallClock = .system
    ) {
        self.settings = settings
        self.clock = clock
        self.metrics = AppleHealthMetrics(metrics)
        self.log = log.part("apple-health")
    }

    // MARK: Hearing

    /// Takes in how a call ended.
    package func note(_ outcome: ServerAPIOutcome, app: AppID, environment: StoreEnvironment) {
        let store = AppleStore(app, environment)
        let news = state.withLock { take(outcome, about: store, &$0) }
        if let change = news.change { tell(change) }
        if let isRefused = news.isKeyRefused { tell(store, isKeyRefused: isRefused, outcome) }
    }

    /// What is new; nil what is as before.
    private struct News {
        var change: Change?
        var isKeyRefused: Bool?
    }

    private func take(_ outcome: ServerAPIOutcome, about store: AppleStore, _ state: inout State) -> News {
        guard let sentAt = outcome.sentAt else { return News() }
        var subject = state.subjects[store] ?? newSubject()
        defer { state.subjects[store] = subject }
        var news = News(isKeyRefused: Self.keyNews(outcome, &subject))
        let evidence = AppleHealthTracker.Evidence(outcome, slowAfter: settings.slowAfter)
        let step = subject.tracker.note(evidence, sent: sentAt, ended: outcome.endedAt)
        let isProbeDueEarlier = subject.schedule.note(evidence, ended: outcome.endedAt)
        if isProbeDueEarlier || step != nil { subject.alarm?.cancel() }
        if let step {
            news.change = made(store, step, evidence, outcome, &state)
            subject.lastChange = news.change
        }
        return news
    }

    private func newSubject() -> Subject {
        Subject(
            tracker: AppleHealthTracker(settings: settings),
            schedule: ProbeSchedule(settings: settings, startedAt: .now))
    }

    /// Under the lock, so that listeners hear changes in their order.
    private func made(
        _ store: AppleStore, _ step: AppleHealthTracker.Step, _ evidence: AppleHealthTracker.Evidence,
        _ outcome: ServerAPIOutcome, _ state: inout State
    ) -> Change {
        state.lastNumber &+= 1
        let (now, wallNow) = (outcome.endedAt, clock.now())
        var trouble: AppleTrouble?
        if case .failed(let kind) = evidence { trouble = kind }
        let change = Change(
            app: store.app, environment: store.environment, from: step.from, to: step.to, at: wallNow,
            cause: trouble.map { AppleCause.sentence($0, outcome) } ?? AppleCause.recovery(settings), trouble: trouble,
            outageBegan: step.outageBegan.map { wallNow - (now - $0) },
            lastGood: step.lastGood.map { wallNow - (now - $0) }, number: state.lastNumber)
        state.changes.append(change)
        if state.changes.count > settings.changesKept { state.changes.removeFirst() }
        for listener in state.listeners.values { listener.yield(change) }
        return change
    }

    /// Whether Apple began to refuse the key, or takes it again; nil when that is as before.
    private static func keyNews(_ outcome: ServerAPIOutcome, _ subject: inout Subject) -> Bool? {
        switch outcome.failure?.kind {
        case .unauthorized:
            guard subject.keyRefusedAt == nil else { return nil }
            subject.keyRefusedAt = outcome.endedAt
            return true
        case nil, .refused:
            guard subject.keyRefusedAt != nil else { return nil }
            subject.keyRefusedAt = nil
            return false
        default: return nil
        }
    }

    // MARK: Telling

    private func tell(_ change: Change) {
        metrics.changed(change)
        let log = log.with([
            "app": .init(change.app), "environment": .init(change.environment.rawValue),
            "from": .init(change.from.rawValue), "cause": .init(change.cause),
            "outage_began": .init(change.outageBegan?.rfc3339 ?? ""),
        ])
        switch change.to {
        case .fine, .notAsked: log.info("Apple's API is fine again")
        case .degraded: log.warning("Apple's API is slow or fails")
        case .unreachable: log.warning("Apple's API is unreachable")
        }
    }

    /// An outage it is not: Apple is there, and does not let this app's key in.
    private func tell(_ store: AppleStore, isKeyRefused: Bool, _ outcome: ServerAPIOutcome) {
        metrics.keyRefused(store, isKeyRefused)
        let log = log.with(["app": .init(store.app), "environment": .init(store.environment.rawValue)])
        if isKeyRefused {
            log.warning(
                "Apple refuses the key of this app; holdfast doctor says more",
                ["detail": .init(outcome.failure?.message ?? "")])
        } else {
            log.info("Apple takes the key of this app again")
        }
    }

    /// Never waits; `notAsked` for what nothing was heard of.
    package func health(of app: AppID, _ environment: StoreEnvironment) -> AppleHealth {
        state.withLock { $0.subjects[AppleStore(app, environment)]?.tracker.health ?? .notAsked }
    }

    /// Whether Apple answered 401 to the last call that says anything of the key. Never waits.
    package func isKeyRefused(of app: AppID, _ environment: StoreEnvironment) -> Bool {
        state.withLock { $0.subjects[AppleStore(app, environment)]?.keyRefusedAt != nil }
    }

    /// All changes from now on, in their order, until the monitor is drained. Who listens too slowly misses the oldest.
    package func changes() -> AsyncStream<Change> {
        let (stream, continuation) = AsyncStream.makeStream(of: Change.self, bufferingPolicy: .bufferingNewest(1024))
        let number: UInt64? = state.withLock { state in
            guard !state.isDraining else { return nil }
            state.lastListener &+= 1
            state.listeners[state.lastListener] = continuation
            return state.lastListener
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    /// The last ones, newest first.
    package var recentChanges: [Change] { state.withLock { $0.changes.reversed() } }

    /// What is known of one app in one environment.
    package struct Status: Sendable, Hashable {
        package let store: AppleStore
        package let health: AppleHealth
        /// The change that led to it; nil if it was never otherwise.
        package let lastChange: Change?
        /// When a call last said anything.
        package let heardAt: Timestamp?
        package let goodAt: Timestamp?
        package let failuresInRow: Int
        package let goodInRow: Int
        package let keyRefusedSince: Timestamp?
        /// Whether Apple can be asked at all.
        package let hasKey: Bool
        /// Whether this process asks by itself when nobody else does.
        package let isProbed: Bool
    }

    /// Of every app and environment that is known, sorted.
    package var statuses: [Status] {
        let (now, wallNow) = (ContinuousClock.now, clock.now())
        return state.withLock { state in
            state.subjects.map { store, subject in
                let tracker = subject.tracker
                return Status(
                    store: store, health: tracker.health, lastChange: subject.lastChange,
                    heardAt: tracker.heardAt.map { wallNow - (now - $0) },
                    goodAt: tracker.goodAt.map { wallNow - (now - $0) }, failuresInRow: tracker.failuresInRow,
                    goodInRow: tracker.goodInRow,
                    keyRefusedSince: subject.keyRefusedAt.map { wallNow - (now - $0) },
                    hasKey: subject.probe != nil, isProbed: subject.probe != nil && settings.probes)
            }
        }.sorted { $0.store.description < $1.store.description }
    }

    // MARK: Probing

    /// Makes an app known: one without a key, whom nobody asks Apple about, has no `probe`; of others Apple is asked by it
    /// while nobody else asks. What comes of a probe must be noted as that of any call. Before `start`.
    package func watch(_ store: AppleStore, probe: (@Sendable () async -> Void)?) {
        if probe != nil { metrics.isWatched(store) }
        state.withLock { $0.subjects[store, default: newSubject()].probe = probe }
    }

    package func start() {
        guard settings.probes else { return }
        state.withLock { state in
            guard !state.isDraining, state.loops.isEmpty else { return }
            for (store, subject) in state.subjects {
                guard let probe = subject.probe else { continue }
                state.loops.append(Task(name: "apple-probes") { [weak self] in await self?.run(probe, of: store) })
            }
        }
    }

    private func run(_ probe: @Sendable () async -> Void, of store: AppleStore) async {
        while !Task.isCancelled {
            if let alarm = wait(store) {
                await withTaskCancellationHandler {
                    await alarm.value
                } onCancel: {
                    alarm.cancel()
                }
                continue
            }
            metrics.probed(store)
            state.withLock { $0.subjects[store]?.schedule.probing() }
            await probe()
            state.withLock { $0.subjects[store]?.schedule.probed(at: .now) }
        }
    }

    /// Ends when a probe may be due; nil when one is.
    private func wait(_ store: AppleStore) -> Task<Void, Never>? {
        state.withLock { state in
            guard let subject = state.subjects[store] else { return nil }
            let due = subject.schedule.due(subject.tracker.health, chance: .random(in: -1...1))
            guard due > .now else { return nil }
            let alarm = Task<Void, Never>(name: "apple-probes-rest") {
                // Cancelled when what was just heard makes the next probe due earlier.
                do { try await Task.sleep(until: due, clock: .continuous) } catch { return }
            }
            state.subjects[store]?.alarm = alarm
            return alarm
        }
    }

    package func drain() async {
        let (loops, listeners) = state.withLock { state in
            state.isDraining = true
            defer {
                state.loops = []
                state.listeners = [:]
            }
            return (state.loops, Array(state.listeners.values))
        }
        for loop in loops { loop.cancel() }
        for loop in loops { await loop.value }
        for listener in listeners { listener.finish() }
    }
}
