import AppStore
import CacheTier

/// What the lanes of one backfill share: who reads which part, and how far everybody is.
actor BackfillBook {
    private(set) var job: RecoveryJob
    private let keep: Backfill.Keep
    private var inHand: Set<Int> = []
    /// The last notifications that went through the line, one a window.
    private(set) var lastSent: [Int: String] = [:]

    init(_ job: RecoveryJob, keep: @escaping Backfill.Keep) {
        self.job = job
        self.keep = keep
    }

    /// The next part for a lane; nil when there are no more.
    func take() -> (window: BackfillProgress.Window, position: String)? {
        guard let next = job.history.take(besides: inHand) else { return nil }
        inHand.insert(next.window.number)
        return next
    }

    /// A page was read, and all of it went where it had to go. With no position the window is done.
    func read(
        _ page: BackfillProgress.Figures, of window: BackfillProgress.Window, next position: String?, sent: String?
    ) async throws(RecoveryFailure) {
        job.history.figures += page
        job.history.reached(position, of: window)
        if position == nil { inHand.remove(window.number) }
        if let sent { lastSent[window.number % 64] = sent }
        do throws(RecoveryStore.Failure) { try await keep(job) } catch { throw RecoveryFailure(error) }
    }
}
