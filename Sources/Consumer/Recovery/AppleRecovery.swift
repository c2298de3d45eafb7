import CacheTier
import Entitlements
package import Runtime
import Synchronization

/// Makes up for Apple's outages: looks in Redis for recoveries that are to be done, of whichever process noticed them, and
/// does those that nobody else is at. One that a dead process left is taken over when its lease has run out.
package final class AppleRecovery: Service {
    /// One app in one environment.
    package struct Subject: Sendable {
        package let run: RecoveryRun
        /// Whether Apple answers, as far as this process knows.
        package let isAppleThere: @Sendable () -> Bool

        package init(run: RecoveryRun, isAppleThere: @escaping @Sendable () -> Bool) {
            self.run = run
            self.isAppleThere = isAppleThere
        }
    }

    package let name = "apple-recovery"
    private let subjects: [Subject]
    private let lookEvery: Duration
    private let isReady: @Sendable () -> Bool
    private let log: Log
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// `isReady` says whether Redis and the broker are there.
    package init(
        subjects: [Subject], lookEvery: Duration, log: Log, isReady: @escaping @Sendable () -> Bool
    ) {
        self.subjects = subjects
        self.lookEvery = lookEvery
        self.isReady = isReady
        self.log = log.part(name)
    }

    package func start() async {
        let task = Task(name: name) {
            await withDiscardingTaskGroup { group in
                for subject in self.subjects { group.addTask { await self.lookAfter(subject) } }
            }
        }
        work.withLock { $0 = task }
    }

    package func drain() async {
        let task = work.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }

    private func lookAfter(_ subject: Subject) async {
        while true {
            if isReady(), subject.isAppleThere() { await recover(subject) }
            do { try await Task.sleep(for: lookEvery) } catch { return }
        }
    }

    private func recover(_ subject: Subject) async {
        let jobs = subject.run.jobs
        let log = log.with(["app": .init(jobs.app), "environment": .init(jobs.environment.rawValue)])
        do throws(StoreError) {
            for job in try await jobs.jobs().reversed() where job.cause == .outage && job.phase < .done {
                if job.phase == .waiting {
                    guard try await jobs.adopt(job) != nil else { continue }
                    log.info("an outage that nobody watches any more is made up for", ["job": .init(job.name)])
                }
                await run(job, subject.run, log)
            }
        } catch { log.warning("recoveries could not be looked for", ["error": .init(error)]) }
    }

    private func run(_ job: RecoveryJob, _ run: RecoveryRun, _ log: Log) async {
        do throws(RecoveryFailure) {
            guard case .done(let done) = try await run.run(job.name) else { return }
            log.info(
                "a recovery is done", ["job": .init(done.name), "new": .init(done.history.figures.new)])
        } catch {
            if case .ended = error { return }
            log.warning(
                "a recovery was interrupted, and goes on later", ["job": .init(job.name), "reason": .init(error)])
        }
    }
}
