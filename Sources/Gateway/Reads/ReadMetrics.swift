internal import CacheTier
internal import Entitlements
internal import Runtime

/// What the reads of one app count. The series are looked up once: reads are what is asked for most.
struct ReadMetrics: Sendable {
    private struct Labels: Hashable {
        let environment: StoreEnvironment
        let level: ServiceLevel
    }

    private let answered: [Labels: Counter]
    private let seconds: Histogram
    let failed: Counter

    init(_ metrics: Metrics, app: AppID) {
        var answered: [Labels: Counter] = [:]
        for environment in StoreEnvironment.allCases {
            for level in ServiceLevel.allCases {
                answered[Labels(environment: environment, level: level)] = metrics.counter(
                    "holdfast_reads_total", "Reads answered, by the level of the answer.",
                    labels: [
                        "app": app.rawValue, "environment": environment.rawValue, "level": level.rawValue,
                    ])
            }
        }
        self.answered = answered
        seconds = metrics.histogram("holdfast_read_seconds", "Time from a read's header to its answer.")
        failed = metrics.counter(
            "holdfast_reads_failed_total", "Reads answered with 503: neither memory nor Redis could say.",
            labels: ["app": app.rawValue])
    }

    func wasAnswered(_ answer: Answer, after duration: Duration) {
        answered[Labels(environment: answer.environment, level: answer.level)]?.increment()
        seconds.record(duration)
    }
}
