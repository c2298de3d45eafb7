import AppStore
import CacheTier
import Entitlements
import Runtime

/// What reconciliation counts.
struct ReconcileMetrics: Sendable {
    private let metrics: Metrics
    private let app: String
    private let environment: String
    private let seconds: Histogram
    private let delay: Histogram

    init(_ metrics: Metrics, app: AppID, environment: StoreEnvironment) {
        self.metrics = metrics
        (self.app, self.environment) = (app.rawValue, environment.rawValue)
        let labels: Metrics.Labels = ["app": app.rawValue, "environment": environment.rawValue]
        seconds = metrics.histogram(
            "holdfast_reconcile_check_seconds", "From a check's beginning to Apple's answer in the queue.",
            labels: labels)
        delay = metrics.histogram(
            "holdfast_reconcile_delay_seconds", "From when a check was due to its beginning.",
            buckets: [0.5, 1, 2, 5, 15, 60, 300, 900, 3600, 14_400, 86_400], labels: labels)
    }

    /// `outcome` is a verdict, or why Apple was not asked.
    func checked(_ outcome: String, urgency: String) {
        metrics.counter(
            "holdfast_reconcile_checks_total", "Lineages whose check was due, by urgency and by what became of it.",
            labels: ["app": app, "environment": environment, "outcome": outcome, "urgency": urgency]
        ).increment()
    }

    func began(late: Duration) { delay.record(max(.zero, late) / .seconds(1)) }

    func took(_ time: Duration) { seconds.record(time / .seconds(1)) }

    func drift(_ difference: Drift.Difference) {
        metrics.counter(
            "holdfast_drift_total",
            "What Apple answered and a notification had not told, by field and by why it had not.",
            labels: [
                "app": app, "environment": environment, "field": difference.field.rawValue,
                "cause": (difference.cause ?? .unknown).rawValue,
            ]
        ).increment()
    }
}
