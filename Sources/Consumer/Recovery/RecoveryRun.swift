package import CacheTier
import Entitlements
package import Runtime
import Time

/// Brings one recovery or backfill to its end, from wherever it was left: under its lease, phase by phase.
package struct RecoveryRun: Sendable {
    package enum Outcome: Sendable, Hashable {
        case done(RecoveryJob)
        /// Another process is at it; so far it was when it was looked at.
        case busy(RecoveryJob)
        /// There is no such job, or nothing to be done about it yet.
        case idle
    }

    package let jobs: RecoveryStore
    private let backfill: Backfill
    /// Nil asks about no lineages.
    private let settling: LineageSettling?
    private let clock: WallClock
    private let metrics: RecoveryMetrics
    private let log: Log

    package init(
        jobs: RecoveryStore, backfill: Backfill, settling: LineageSettling?, clock: WallClock = .system,
        metrics: Metrics = Metrics(), log: Log = .discarding
    ) {
        self.jobs = jobs
        self.backfill = backfill
        self.settling = settling
        self.clock = clock
        self.metrics = RecoveryMetrics(metrics, app: jobs.app, environment: jobs.environment)
        self.log = log.part("recovery").with([
            "app": .init(jobs.app), "environment": .init(jobs.environment.rawValue),
        ])
    }

    /// `progress` hears of each step.
    package func run(
        _ name: String, progress: @escaping @Sendable (RecoveryJob) -> Void = { _ in }
    ) async throws(RecoveryFailure) -> Outcome {
        guard let before = try await job(name), before.phase == .history || before.phase == .lineages else {
            return .idle
        }
        let outcome = try await jobs.leased(name, log) { () async throws(RecoveryFailure) -> Outcome in
            // Whoever had the lease before may have gone on since.
            guard let job = try await job(name), job.phase < .done else { return .idle }
            return .done(try await finish(job, progress))
        }
        return outcome ?? .busy(before)
    }

    private func finish(
        _ start: RecoveryJob, _ progress: @escaping @Sendable (RecoveryJob) -> Void
    ) async throws(RecoveryFailure) -> RecoveryJob {
        let log = log.with(["job": .init(start.name)])
        log.info("a recovery begins", ["phase": .init(start.phase.rawValue), "from": .init(start.history.from)])
        let keep: Backfill.Keep = { [jobs] job throws(RecoveryStore.Failure) in
            try await jobs.save(job)
            progress(job)
        }
        var job = start
        if job.phase == .history {
            job = try await backfill.run(job, keep: keep)
            let figures = job.history.figures
            log.info(
                "the notification history was read",
                [
                    "sentByApple": .init(figures.sent), "new": .init(figures.new), "known": .init(figures.known),
                    "beyondMemory": .init(figures.beyondMemory), "unusable": .init(figures.unusable),
                ])
            job.phase = settling == nil || job.cause != .outage ? .done : .lineages
            try await save(job, keep)
        }
        if job.phase == .lineages, let settling {
            job = try await settling.run(job, keep: keep)
            job.phase = .done
            try await save(job, keep)
            log.info(
                "lineages in doubt were looked at",
                [
                    "found": .init(job.lineages.found), "settled": .init(job.lineages.settled),
                    "open": .init(job.lineages.open), "failed": .init(job.lineages.failed),
                    "settledMeanwhile": .init(job.lineages.settledMeanwhile),
                ])
        }
        metrics.finished(after: clock.now() - job.history.until)
        return job
    }

    private func job(_ name: String) async throws(RecoveryFailure) -> RecoveryJob? {
        do throws(StoreError) { return try await jobs.job(name) } catch { throw .store(error) }
    }

    private func save(_ job: RecoveryJob, _ keep: Backfill.Keep) async throws(RecoveryFailure) {
        do throws(RecoveryStore.Failure) { try await keep(job) } catch { throw RecoveryFailure(error) }
    }
}
