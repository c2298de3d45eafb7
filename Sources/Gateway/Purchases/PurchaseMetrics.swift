internal import CacheTier
internal import Entitlements
internal import Runtime

/// What posted purchases of one app count.
struct PurchaseMetrics: Sendable {
    private let metrics: Metrics
    private let app: String
    private let seconds: Histogram
    let unstored: Counter

    init(_ metrics: Metrics, app: AppID) {
        self.metrics = metrics
        self.app = app.rawValue
        seconds = metrics.histogram(
            "holdfast_purchases_seconds", "Time from a whole body of posted purchases to its answer.")
        unstored = metrics.counter(
            "holdfast_purchases_unstored_total",
            "Posts answered with 503: neither the broker nor the spool took them.", labels: ["app": app.rawValue])
    }

    /// One lineage, by what was decided: `claimed`, `alreadyYours`, `refused` or `pending`.
    func decided(_ decision: String, reason: ClaimRefusal?) {
        metrics.counter(
            "holdfast_purchases_total", "Lineages posted for a customer, by what was decided.",
            labels: ["app": app, "decision": decision, "reason": reason?.rawValue ?? ""]
        ).increment()
    }

    /// A post of which nothing was taken in.
    func rejected(_ reason: String) {
        metrics.counter(
            "holdfast_purchases_rejected_total", "Posts of purchases that were not taken in, by reason.",
            labels: ["app": app, "reason": reason]
        ).increment()
    }

    func stored(_ place: IntakeStore.Place, after duration: Duration) {
        metrics.counter(
            "holdfast_purchases_stored_total", "Posts made durable, by where.",
            labels: ["app": app, "stored": place.rawValue]
        ).increment()
        seconds.record(duration)
    }
}
