internal import CacheTier
internal import Entitlements
internal import Runtime

/// What reads with `?refresh=true` count.
struct RefreshMetrics: Sendable {
    private let metrics: Metrics
    private let seconds: Histogram

    init(_ metrics: Metrics) {
        self.metrics = metrics
        seconds = metrics.histogram(
            "holdfast_refresh_seconds", "How long reads waited for what Apple says about a customer.")
    }

    func refreshed(_ app: AppID, _ note: RefreshNote, in time: Duration) {
        metrics.counter(
            "holdfast_refreshes_total", "Reads that wanted Apple to be asked, by what came of it and why.",
            labels: ["app": app.rawValue, "result": note.result.rawValue, "reason": note.reason?.rawValue ?? ""]
        ).increment()
        seconds.record(time)
    }
}
