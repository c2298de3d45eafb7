package import Runtime

/// How it is looked after that notifications told what they should have.
package struct DriftSettings: Sendable {
    /// How long a notification may take before it counts as missing.
    package var patience = Duration.seconds(600)
    /// Differences that are kept for operators, of each app and environment.
    package var kept = 10_000

    package init() {}

    /// Reads `reconcile.drift*`.
    package init(_ settings: inout SettingsReader) {
        patience = settings.duration(
            "reconcile.driftPatience", default: patience, in: .seconds(1) ... .seconds(86_400),
            "How long after Apple said what we did not know it is examined which notification should have told; a tenth of the paid period at most."
        )
        kept = settings.integer(
            "reconcile.driftKept", default: kept, in: 100...1_000_000,
            "How many such differences are kept for each app and environment; about 1 KB of Redis each.")
    }
}
