import CacheTier
import Entitlements
package import Runtime
import Synchronization

/// Makes up for what was missed: looks in Redis for recoveries that are to be done, of whichever process noticed them, and
/// does those that nobody else is at. One that a dead process left is taken over when its lease has run out. Beside that it
/// compares what Apple says it sent with what came, when that is due.
package final class AppleRecovery: Service {
    /// One app in one environment.
    package struct Subject: Sendable {
        package let run: RecoveryRun
        /// Nil: nothing is compared regularly.
        package let check: RegularCheck?
        /// Whether Apple answers, as far as this process knows.
        package let isAppleThere: @Sendable () -> Bool

        package init(
            run: RecoveryRun, check: RegularCheck? = nil, isAppleThere: @escaping @Sendable () -> Bool
        ) {
            self.run = run
            self.check = check
            self.isAppleThere = isAppleThere
        }
    }

    package let name = "apple-recovery"
    private let subjects: [Subject]
    private let lookEvery: Duration
    private let recovers: Bool
    private let isReady: @Sendable () -> Bool
    private let log: Log
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// `recovers`: whether recoveries are done, too. `isReady` says whether Redis and the broker are there.
    package init(
        subjects: [Subject], lookEvery: Duration, recovers: Bool = true, log: Log,
        isReady: @escaping @Sendable () -> Bool
    ) {
        self.subjects = subjects
        self.recovers = recovers
        self.lookEvery = lookEvery
        self.isReady = isReady
        self.log = log.part(name)
    }

    package func start() async {
        let task = Task(name: name) {
            await withDiscardingTaskGroup { group in
                for subject in self.subjects {
                    if self.recovers { group.addTask { await self.lookAfter(subject) { await self.recover(subject) } } }
                    guard let check = subject.check else { continue }
                    group.addTask { await self.lookAfter(subject) { await self.compare(check) } }
                }
            }
        }
        work.withLock { $0 = task }
    }

    package func drain() async {
        let task = work.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }

    private func lookAfter(_ subject: Subject, _ look: () async -> Void) async {
        while true {
            if isReady(), subject.isAppleThere() { await look() }
            do { try await Task.sleep(for: lookEvery) } catch { return }
        }
    }

    private func compare(_ check: RegularCheck) async {
        do throws(RecoveryFailure) { try await check.look() } catch {
            if case .ended = error { return }
            log.warning(
                "what Apple sent could not be compared with what came, and will be",
                [
                    "app": .init(check.jobs.app), "environment": .init(check.jobs.environment.rawValue),
                    "reason": .init(error),
                ])
        }
    }

    private func recover(_ subject: Subject) async {
        let jobs = subject.run.jobs
        let log = log.with(["app": .init(jobs.app), "environment": .init(jobs.environment.rawValue)])
        do throws(StoreError) {
            for job in try await jobs.jobs().reversed() where job.isForConsumers && job.phase < .done {
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

extension RecoveryJob {
    /// Whether consumers see to it by themselves.
    fileprivate var isForConsumers: Bool {
        switch cause {
        case .outage, .newApp: true
        case .command, .regular: false
        }
    }
}
