internal import Entitlements
internal import Runtime

/// What the intake counts for one app.
struct IntakeMetrics: Sendable {
    private let acknowledged: [String: Counter]
    private let seconds: [IntakeStore.Place: Histogram]
    let wrongEnvironment: Counter
    let unstored: Counter
    let deferred: Counter
    let refused: @Sendable (_ reason: String) -> Counter
    let quarantined: @Sendable (_ reason: String) -> Counter

    init(_ metrics: Metrics, app: AppID) {
        let app = app.rawValue
        var acknowledged: [String: Counter] = [:]
        var seconds: [IntakeStore.Place: Histogram] = [:]
        for place in [IntakeStore.Place.broker, .spool] {
            for environment in StoreEnvironment.allCases {
                acknowledged[Self.key(place, environment)] = metrics.counter(
                    "holdfast_intake_acknowledged_total", "Bodies answered with 200, by where they were stored.",
                    labels: ["app": app, "environment": environment.rawValue, "stored": place.rawValue])
            }
            seconds[place] = metrics.histogram(
                "holdfast_intake_seconds", "Time from a whole body to its acknowledgement.",
                labels: ["stored": place.rawValue])
        }
        self.acknowledged = acknowledged
        self.seconds = seconds
        wrongEnvironment = metrics.counter(
            "holdfast_intake_wrong_environment_total",
            "Bodies of one environment that came to the other's address and were taken for what they say.",
            labels: ["app": app])
        unstored = metrics.counter(
            "holdfast_intake_unstored_total", "Bodies answered with 503: neither the broker nor the spool took them.",
            labels: ["app": app])
        deferred = metrics.counter(
            "holdfast_intake_deferred_total", "Bodies answered with 503: too many unknown certificate chains.",
            labels: ["app": app])
        refused = { reason in
            metrics.counter(
                "holdfast_intake_refused_total", "Bodies refused before anything was stored.",
                labels: ["app": app, "reason": reason])
        }
        quarantined = { reason in
            metrics.counter(
                "holdfast_intake_quarantined_total", "Bodies that could not be judged and went to quarantine.",
                labels: ["app": app, "reason": reason])
        }
    }

    func wasAcknowledged(_ place: IntakeStore.Place, _ environment: StoreEnvironment, after duration: Duration) {
        acknowledged[Self.key(place, environment)]?.increment()
        seconds[place]?.record(duration)
    }

    private static func key(_ place: IntakeStore.Place, _ environment: StoreEnvironment) -> String {
        "\(place.rawValue) \(environment.rawValue)"
    }
}
