import CacheTier
import Runtime

/// What the lanes of one app and environment take their work from: claimed in small portions, so that what becomes urgent
/// does not wait behind what was claimed before.
actor DueLine {
    private let due: DueWork
    private let settings: ReconcileSettings
    private let log: Log
    private var claimed: ArraySlice<DueLineage> = []
    private var claimedAt = ContinuousClock.now
    private var refill: Task<Void, Never>?
    private var isOver = false

    init(_ due: DueWork, settings: ReconcileSettings, log: Log) {
        self.due = due
        self.settings = settings
        self.log = log
    }

    /// The next one that is due, once there is one; nil to look again whether there is to be work at all.
    func next() async -> DueLineage? {
        if let claim = fresh() { return claim }
        let task = refill ?? Task { await self.claim() }
        refill = task
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        return fresh()
    }

    /// What nobody has begun, when the process ends.
    func rest() -> [DueLineage] {
        isOver = true
        defer { claimed = [] }
        return Array(claimed)
    }

    /// Left alone for so long, the others have belonged to somebody else since.
    private func fresh() -> DueLineage? {
        if ContinuousClock.now - claimedAt > settings.lease / 2 { claimed = [] }
        return claimed.popFirst()
    }

    private func claim() async {
        defer { refill = nil }
        do throws(StoreError) {
            claimedAt = .now
            claimed = try await due.claim(limit: max(1, settings.lanes / 2), lease: settings.lease)[...]
        } catch { log.warning("what is due could not be looked for", ["error": .init(error)]) }
        guard claimed.isEmpty else { return }
        // Cut short when the process ends.
        try? await Task.sleep(for: settings.lookEvery)
    }
}
