import AppStore
package import Broker
package import CacheTier
package import Entitlements
package import Redis
package import Runtime
package import Time

/// Asks Apple about every lineage in doubt, the most urgent first, and sends Apple's word through the line.
///
/// Each question leaves a line in the log: which lineage, what Apple said, what follows from it, how long it took. What
/// Apple signed is in the ledger, under the message id that the line names.
package struct LineageSettling: Sendable {
    /// What Apple said about a lineage, ready for the intake.
    package struct Word: Sendable {
        package let message: BrokerMessage
        package let observations: [Observation]
        /// For the log.
        package let said: String

        package init(message: BrokerMessage, observations: [Observation], said: String) {
            self.message = message
            self.observations = observations
            self.said = said
        }
    }

    /// Why Apple's word is not to be had.
    package struct Silence: Error, Sendable {
        package let reason: String
        /// Whether asking again later makes sense.
        package let isPassing: Bool
        package let retryAfter: Timestamp?
        /// An answer that does not pass verification: it goes into quarantine by way of the intake.
        package let unusable: BrokerMessage?

        package init(reason: String, isPassing: Bool, retryAfter: Timestamp? = nil, unusable: BrokerMessage? = nil) {
            self.reason = reason
            self.isPassing = isPassing
            self.retryAfter = retryAfter
            self.unusable = unusable
        }
    }

    /// Asks Apple once.
    package typealias Ask = @Sendable (LineageRecord) async throws(Silence) -> Word

    private let app: AppID
    private let environment: StoreEnvironment
    private let ask: Ask
    private let redis: any RedisCommands
    private let store: LineageStore
    private let rules: StoreRules
    private let publisher: any MessagePublisher
    private let names: BrokerNames
    private let settings: RecoverySettings
    private let clock: WallClock
    private let metrics: RecoveryMetrics
    private let log: Log

    package init(
        app: AppID, environment: StoreEnvironment, redis: any RedisCommands, store: LineageStore, rules: StoreRules,
        publisher: any MessagePublisher, names: BrokerNames, settings: RecoverySettings = RecoverySettings(),
        clock: WallClock = .system, metrics: Metrics = Metrics(), log: Log = .discarding, ask: @escaping Ask
    ) {
        self.app = app
        self.environment = environment
        self.ask = ask
        self.redis = redis
        self.store = store
        self.rules = rules
        self.publisher = publisher
        self.names = names
        self.settings = settings
        self.clock = clock
        self.metrics = RecoveryMetrics(metrics, app: app, environment: environment)
        self.log = log.part("recovery").with(["app": .init(app), "environment": .init(environment.rawValue)])
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

    enum Verdict: String, Sendable { case settled, open, failed, silent, settledMeanwhile }

    private func settle(_ lineage: LineageID, _ job: String) async throws(RecoveryFailure) -> Verdict {
        if Task.isCancelled { throw .ended }
        let found: FoundLineage?
        do throws(StoreError) { found = try await store.find(lineage) } catch { throw .store(error) }
        guard let record = found?.record, meaning(of: record).isInDoubt else {
            metrics.lineage(Verdict.settledMeanwhile.rawValue)
            return .settledMeanwhile
        }
        let log = log.with(["job": .init(job), "lineage": .init(lineage.originalTransactionID)])
        let began = ContinuousClock.now
        let word: Word
        switch await answer(about: record) {
        case .success(let answer): word = answer
        case .failure(let silence):
            let verdict: Verdict = silence.isPassing ? .silent : .failed
            log.warning(
                "Apple was asked about a lineage, in vain",
                [
                    "reason": .init(silence.reason), "before": .init(meaning(of: record).state.rawValue),
                    "took": .init(milliseconds(since: began)), "quarantined": .init(silence.unusable?.messageID ?? ""),
                ])
            if let message = silence.unusable { try await publish(message) }
            metrics.lineage(verdict.rawValue)
            return verdict
        }
        try await publish(word.message)
        var after = record
        for observation in word.observations where observation.lineage == lineage { after.fold(observation) }
        let concluded = meaning(of: after)
        let verdict: Verdict = concluded.isInDoubt ? .open : .settled
        log.info(
            "Apple was asked about a lineage",
            [
                "said": .init(word.said), "message": .init(word.message.messageID ?? ""),
                "before": .init(meaning(of: record).state.rawValue), "concluded": .init(concluded.state.rawValue),
                "because": .init(concluded.reason.rawValue), "took": .init(milliseconds(since: began)),
            ])
        metrics.lineage(verdict.rawValue)
        return verdict
    }

    private func answer(about record: LineageRecord) async -> Result<Word, Silence> {
        var tries = Tries.standard
        while true {
            do throws(Silence) { return .success(try await ask(record)) } catch {
                guard await tries.next(isPassing: error.isPassing, retryAfter: error.retryAfter, clock: clock) else {
                    return .failure(error)
                }
            }
        }
    }

    private func publish(_ message: BrokerMessage) async throws(RecoveryFailure) {
        do throws(BrokerError) {
            try await publisher.publish(message, to: names.intake, routingKey: "", mandatory: true)
        } catch { throw .notTaken(error) }
    }

    private func meaning(of record: LineageRecord) -> LineageEvaluation {
        record.evaluated(at: clock.now(), map: rules.map, policy: rules.evaluation)
    }

    /// For the log.
    private func milliseconds(since began: ContinuousClock.Instant) -> Int64 {
        Int64(clamping: Int((ContinuousClock.now - began) / .milliseconds(1)))
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

    func settled(_ verdict: LineageSettling.Verdict) async throws(RecoveryFailure) {
        if verdict == .settledMeanwhile {
            job.lineages.settledMeanwhile &+= 1
        } else {
            job.lineages.asked &+= 1
        }
        switch verdict {
        case .settled: job.lineages.settled &+= 1
        case .open: job.lineages.open &+= 1
        case .failed, .silent: job.lineages.failed &+= 1
        case .settledMeanwhile: break
        }
        silentInARow = verdict == .silent ? silentInARow + 1 : 0
        do throws(RecoveryStore.Failure) { try await keep(job) } catch { throw RecoveryFailure(error) }
    }
}
