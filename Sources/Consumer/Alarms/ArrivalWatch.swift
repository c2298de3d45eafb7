package import CacheTier
package import Entitlements
package import Runtime
internal import Time

/// Shows whether notifications of each app come as they usually do.
package struct ArrivalWatch: Sendable {
    private let apps: [AppID]
    private let arrivals: Arrivals
    private let metrics: Metrics
    private let clock: WallClock
    private let log: Log

    package init(apps: [AppID], arrivals: Arrivals, metrics: Metrics, clock: WallClock = .system, log: Log) {
        self.apps = apps
        self.arrivals = arrivals
        self.metrics = metrics
        self.clock = clock
        self.log = log.part("arrivals")
    }

    /// What cannot be read from Redis stays as it was last seen; other metrics tell of Redis.
    package func look() async {
        for app in apps {
            for environment in StoreEnvironment.allCases {
                do throws(StoreError) {
                    show(
                        ArrivalSilence(try await arrivals.hours(of: app, in: environment), at: clock.now()), app,
                        environment)
                } catch {
                    log.warning(
                        "it cannot be told whether notifications come as usual",
                        [
                            "app": .init(app), "environment": .init(environment.rawValue), "error": .init(error),
                        ])
                }
            }
        }
    }

    private func show(_ silence: ArrivalSilence, _ app: AppID, _ environment: StoreEnvironment) {
        metrics.gauge(
            "holdfast_arrivals_last_timestamp_seconds", "When the last notification of Apple's came; 0: never.",
            labels: ["app": app.rawValue, "environment": environment.rawValue]
        ).set(Double(silence.last?.milliseconds ?? 0) / 1000)
        metrics.gauge(
            "holdfast_arrivals_silence_chance",
            "How likely the present silence is by what came in the weeks before, 0 to 1; 1 while too little is known.",
            labels: ["app": app.rawValue, "environment": environment.rawValue]
        ).set(silence.chance)
        metrics.gauge(
            "holdfast_arrivals_unusual_silence", "1 while that is less than 1 in 10,000.",
            labels: ["app": app.rawValue, "environment": environment.rawValue]
        ).set(silence.isUnusual ? 1 : 0)
    }
}
