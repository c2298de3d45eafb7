import CacheTier
import Entitlements
import Runtime

/// What recoveries count.
struct RecoveryMetrics: Sendable {
    private let pages: Counter
    private let new: Counter
    private let known: Counter
    private let beyondMemory: Counter
    private let unusable: Counter
    private let lineages: @Sendable (String) -> Counter
    private let finished: Counter
    private let seconds: Histogram

    init(_ metrics: Metrics, app: AppID, environment: StoreEnvironment) {
        let (app, environment) = (app.rawValue, environment.rawValue)
        func verdict(_ name: String) -> Counter {
            metrics.counter(
                "holdfast_backfill_notifications_total",
                "Notifications that Apple's history listed, by what is remembered of them.",
                labels: ["app": app, "environment": environment, "verdict": name])
        }
        pages = metrics.counter(
            "holdfast_backfill_pages_total", "Pages of Apple's notification history that were read.",
            labels: ["app": app, "environment": environment])
        new = verdict("new")
        known = verdict("known")
        beyondMemory = verdict("beyondMemory")
        unusable = verdict("unusable")
        lineages = { outcome in
            metrics.counter(
                "holdfast_recovery_lineages_total", "Lineages in doubt after an outage, by what became of them.",
                labels: ["app": app, "environment": environment, "outcome": outcome])
        }
        finished = metrics.counter(
            "holdfast_recovery_finished_total", "Recoveries that this process brought to their end.",
            labels: ["app": app, "environment": environment])
        seconds = metrics.histogram(
            "holdfast_recovery_seconds", "From Apple's return, as it was noticed, to the end of the recovery.",
            buckets: [1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400],
            labels: ["app": app, "environment": environment])
    }

    func count(_ figures: BackfillProgress.Figures) {
        pages.increment(by: figures.pages)
        new.increment(by: figures.new)
        known.increment(by: figures.known)
        beyondMemory.increment(by: figures.beyondMemory)
        unusable.increment(by: figures.unusable)
    }

    func lineage(_ outcome: String) { lineages(outcome).increment() }

    func finished(after time: Duration) {
        finished.increment()
        seconds.record(max(.zero, time) / .seconds(1))
    }
}
