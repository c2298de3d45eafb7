package import CacheTier
package import Runtime
import Synchronization

/// Checks lineages with Apple when it is due: before access ends for want of news within seconds, else at leisure.
///
/// What is due lies in Redis (`DueWork`), so any number of consumers share it, and what a dead one had in hand comes due
/// again. While Apple is unreachable nothing is taken; while it is slow or fails, one lineage at a time.
package final class Reconciler: Service {
    package let name = "reconciler"
    private let runs: [ReconcileRun]
    private let settings: ReconcileSettings
    private let isReady: @Sendable () -> Bool
    private let log: Log
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// One run an app and environment. `isReady` says whether Redis and the broker are there.
    package init(
        runs: [ReconcileRun], settings: ReconcileSettings, log: Log = .discarding,
        isReady: @escaping @Sendable () -> Bool
    ) {
        self.runs = runs
        self.settings = settings
        self.isReady = isReady
        self.log = log.part(name)
    }

    package func start() async {
        let task = Task(name: name) {
            await withDiscardingTaskGroup { group in
                for run in self.runs {
                    let line = DueLine(run.due, settings: self.settings, log: self.log)
                    for lane in 0..<self.settings.lanes {
                        group.addTask { await self.serve(run, line, lane: lane) }
                    }
                    if let drift = run.drift { group.addTask { await self.examine(drift, run) } }
                }
            }
        }
        work.withLock { $0 = task }
    }

    /// Returns once what was in hand has been given back.
    package func drain() async {
        let task = work.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }

    private func serve(_ run: ReconcileRun, _ line: DueLine, lane: Int) async {
        while !Task.isCancelled {
            guard isReady(), lane < run.lanes(of: settings.lanes) else {
                guard await rest() else { return }
                continue
            }
            if let claim = await line.next() { await run.check(claim) }
        }
        for claim in await line.rest() { await run.giveBack(claim) }
    }

    private func examine(_ drift: DriftExamination, _ run: ReconcileRun) async {
        while true {
            if isReady(), run.lanes(of: settings.lanes) > 0 {
                do throws(StoreError) {
                    while !Task.isCancelled, try await drift.examineDue() {}
                } catch {
                    log.warning("differences could not be examined", ["error": .init(error)])
                }
            }
            guard await rest() else { return }
        }
    }

    /// False when the process ends.
    private func rest() async -> Bool {
        do { try await Task.sleep(for: settings.lookEvery) } catch { return false }
        return true
    }
}
