import AppStore
package import Broker
package import CacheTier
package import Entitlements
package import Redis
package import Runtime
import Time

/// Checks every lineage in doubt, the most urgent first.
package struct LineageSettling: Sendable {
    private let app: AppID
    private let environment: StoreEnvironment
    private let check: LineageCheck
    private let redis: any RedisCommands
    private let store: LineageStore
    private let rules: StoreRules
    private let settings: RecoverySettings
    private let clock: WallClock
    private let metrics: RecoveryMetrics

    package init(
        app: AppID, environment: StoreEnvironment, redis: any RedisCommands, store: LineageStore, rules: StoreRules,
        publisher: any MessagePublisher, names: BrokerNames, settings: RecoverySettings = RecoverySettings(),
        clock: WallClock = .system, metrics: Metrics = Metrics(), log: Log = .discarding,
        ask: @escaping LineageCheck.Ask
    ) {
        self.app = app
        self.environment = environment
        self.redis = redis
        self.store = store
        self.rules = rules
        self.settings = settings
        self.clock = clock
        self.metrics = RecoveryMetrics(metrics, app: app, environment: environment)
        check = LineageCheck(
            rules: rules, publisher: publisher, names: names, clock: clock,
            log: log.part("recovery").with(["app": .init(app), "environment": .init(environment.rawValue)]), ask: ask)
    }

    /// Goes on with the job's lineages: those that are in doubt now. Gives up when Apple is silent again and again.
    package func run(_ job: RecoveryJob, keep: @escaping Backfill.Keep) async throws(RecoveryFailure) -> RecoveryJob {
        let pending = try await PendingLineages(
            of: app, in: environment, redis: redis, map: rules.map, policy: rules.evaluation, at: clock.now()
        ) { () async throws(RecoveryFailure) in
            do throws(RecoveryStore.Failure) { try await keep(job) } catch { throw RecoveryFailure(error) }
        }.found
        var job = job
        job.lineages.found = job.lineages.asked &+ job.lineages.settledMeanwhile &+ UInt64(pending.count)
        let book = SettlingBook(job, pending, keep: keep)
        let name = job.name
        let failure = await withTaskGroup(of: RecoveryFailure?.self) { group in
            for _ in 0..<settings.lanes {
                group.addTask {
                    do throws(RecoveryFailure) {
                        while let next = try await book.take() {
                            try await book.settled(try await self.settle(next.lineage, name))
                        }
                    } catch { return error }
                    return nil
                }
            }
            var first: RecoveryFailure?
            for await failure in group {
                guard let failure, first == nil else { continue }
                first = failure
                group.cancelAll()
            }
            return first
        }
        if let failure { throw failure }
        return await book.job
    }

    /// What became of a lineage; nil when news had settled it before Apple was asked.
    private func settle(_ lineage: LineageID, _ job: String) async throws(RecoveryFailure) -> LineageCheck.Verdict? {
        if Task.isCancelled { throw .ended }
        let found: FoundLineage?
        do throws(StoreError) { found = try await store.find(lineage) } catch { throw .store(error) }
        guard let record = found?.record, check.meaning(of: record).isInDoubt else {
            metrics.lineage("settledMeanwhile")
            return nil
        }
        do throws(BrokerError) {
            let verdict = try await check.check(record, .expiring, why: ["job": .init(job)]).verdict
            metrics.lineage(verdict.rawValue)
            return verdict
        } catch { throw .notTaken(error) }
    }
}

/// What the lanes of one settling share.
private actor SettlingBook {
    private(set) var job: RecoveryJob
    private var rest: ArraySlice<PendingLineages.Pending>
    private let keep: Backfill.Keep
    private var silentInARow = 0

    /// So often in a row Apple may be silent, each time after all tries, before it counts as away.
    private static let patience = 5

    init(_ job: RecoveryJob, _ pending: [PendingLineages.Pending], keep: @escaping Backfill.Keep) {
        self.job = job
        rest = pending[...]
        self.keep = keep
    }

    func take() throws(RecoveryFailure) -> PendingLineages.Pending? {
        guard silentInARow < Self.patience else { throw .appleSilent }
        return rest.popFirst()
    }

    func settled(_ verdict: LineageCheck.Verdict?) async throws(RecoveryFailure) {
        if verdict != nil { job.lineages.asked &+= 1 }
        switch verdict {
        case .settled: job.lineages.settled &+= 1
        case .open: job.lineages.open &+= 1
        case .failed, .silent: job.lineages.failed &+= 1
        case nil: job.lineages.settledMeanwhile &+= 1
        }
        silentInARow = verdict == .silent ? silentInARow + 1 : 0
        do throws(RecoveryStore.Failure) { try await keep(job) } catch { throw RecoveryFailure(error) }
    }
}
