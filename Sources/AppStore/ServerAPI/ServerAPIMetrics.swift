internal import Entitlements
internal import Runtime

/// What a client counts.
struct ServerAPIMetrics: Sendable {
    let skew: Gauge
    private let outcomes: [CallGroup: [String: Counter]]
    private let latency: [CallGroup: Histogram]
    private let waits: [CallPriority: Histogram]

    init(_ metrics: Metrics, environment: StoreEnvironment) {
        let environment = environment.rawValue
        var outcomes: [CallGroup: [String: Counter]] = [:]
        var latency: [CallGroup: Histogram] = [:]
        for group in CallGroup.allCases {
            for outcome in ["ok"] + ServerAPIFailure.Kind.allCases.map(\.rawValue) {
                outcomes[group, default: [:]][outcome] = metrics.counter(
                    "holdfast_app_store_api_calls_total", "Calls of the App Store Server API by how they ended.",
                    labels: ["environment": environment, "group": "\(group)", "outcome": outcome])
            }
            latency[group] = metrics.histogram(
                "holdfast_app_store_api_seconds", "From sending a call to its answer, whatever it was.",
                labels: ["environment": environment, "group": "\(group)"])
        }
        var waits: [CallPriority: Histogram] = [:]
        for priority in CallPriority.allCases {
            waits[priority] = metrics.histogram(
                "holdfast_app_store_api_budget_wait_seconds", "How long a call waited for its turn.",
                labels: ["environment": environment, "priority": priority.name])
        }
        self.outcomes = outcomes
        self.latency = latency
        self.waits = waits
        skew = metrics.gauge(
            "holdfast_app_store_api_clock_skew_seconds", "How far the App Store's clock is ahead of this machine's.",
            labels: ["environment": environment])
    }

    func count(_ group: CallGroup, _ failure: ServerAPIFailure?) {
        outcomes[group]?[failure?.kind.rawValue ?? "ok"]?.increment()
    }

    func answered(_ group: CallGroup, after duration: Duration) { latency[group]?.record(duration) }
    func waited(_ priority: CallPriority, _ duration: Duration) { waits[priority]?.record(duration) }
}
