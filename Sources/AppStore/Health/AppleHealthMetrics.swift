internal import Entitlements
internal import Runtime

/// What is counted of Apple's health.
struct AppleHealthMetrics: Sendable {
    private let metrics: Metrics

    init(_ metrics: Metrics) { self.metrics = metrics }

    /// From now on there is a series for it.
    func isWatched(_ store: AppleStore) {
        level(store).set(0)
        keyRefused(store, false)
    }

    func changed(_ change: AppleHealthMonitor.Change) {
        let store = AppleStore(change.app, change.environment)
        metrics.counter(
            "holdfast_apple_health_changes_total", "Changes of Apple's health, by what it became and why.",
            labels: [
                "app": store.app.rawValue, "environment": store.environment.rawValue, "to": change.to.rawValue,
                "cause": change.trouble?.rawValue ?? "answers",
            ]
        ).increment()
        level(store).set(change.to.number)
    }

    func keyRefused(_ store: AppleStore, _ isRefused: Bool) {
        metrics.gauge(
            "holdfast_apple_key_refused", "1 while Apple answers 401 to this app's key.",
            labels: ["app": store.app.rawValue, "environment": store.environment.rawValue]
        ).set(isRefused ? 1 : 0)
    }

    func probed(_ store: AppleStore) {
        metrics.counter(
            "holdfast_apple_probes_total", "Calls made only to see whether Apple answers.",
            labels: ["app": store.app.rawValue, "environment": store.environment.rawValue]
        ).increment()
    }

    private func level(_ store: AppleStore) -> Gauge {
        metrics.gauge(
            "holdfast_apple_health", "How Apple's API does: 0 fine or not asked, 1 slow or failing, 2 unreachable.",
            labels: ["app": store.app.rawValue, "environment": store.environment.rawValue])
    }
}

extension AppleHealth {
    fileprivate var number: Double {
        switch self {
        case .notAsked, .fine: 0
        case .degraded: 1
        case .unreachable: 2
        }
    }
}
