/// What the simulated store is like.
package struct StoreSettings: Sendable, Hashable {
    package enum Environment: String, Sendable, CaseIterable {
        case production = "Production"
        case sandbox = "Sandbox"
    }

    package var bundleID: String
    package var bundleVersion: String
    /// Written in production only, as Apple does.
    package var appAppleID: Int64
    package var environment: Environment
    /// Every length of time is divided by it: periods, grace, billing retry, the wait between tries to notify.
    package var speed: Double
    /// Apple offers 3, 16 and 28 days.
    package var gracePeriod: Duration
    /// Apple tries to charge for 60 days, grace included.
    package var billingRetry: Duration
    /// How long before a period's end the next one is charged; never more than a quarter of the period.
    package var renewalLead: Duration
    /// Decides every id and every random choice.
    package var seed: UInt64

    package init(
        bundleID: String = "com.example.demo", bundleVersion: String = "1", appAppleID: Int64 = 1_234_567_890,
        environment: Environment = .production, speed: Double = 1, gracePeriod: Duration = .seconds(16 * 86_400),
        billingRetry: Duration = .seconds(60 * 86_400), renewalLead: Duration = .seconds(86_400), seed: UInt64 = 1
    ) {
        self.bundleID = bundleID
        self.bundleVersion = bundleVersion
        self.appAppleID = appAppleID
        self.environment = environment
        self.speed = speed
        self.gracePeriod = gracePeriod
        self.billingRetry = billingRetry
        self.renewalLead = renewalLead
        self.seed = seed
    }

    /// How long `duration` lasts here: whole milliseconds, at least one.
    package func compressed(_ duration: Duration) -> Duration {
        let milliseconds = duration / .milliseconds(1) / max(speed, 0.001)
        return .milliseconds(Int64(min(max(1, milliseconds.rounded()), 1e15)))
    }
}
