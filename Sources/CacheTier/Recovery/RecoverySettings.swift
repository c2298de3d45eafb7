package import Runtime

/// How what was missed during an outage of Apple's is made up for.
package struct RecoverySettings: Sendable {
    /// Whether consumers do it by themselves.
    package var isAutomatic = true
    /// So much before the outage was noticed the notification history is asked for.
    package var margin = Duration.seconds(1800)
    /// Parts of the history, and lineages, that are asked for at a time.
    package var lanes = 4
    /// How often a consumer looks for recoveries that are to be done.
    package var lookEvery = Duration.seconds(5)
    /// How long the UUID of a settled notification is remembered, and how many of an app and environment.
    package var seenKept = Duration.seconds(7 * 86_400)
    package var seenMaximum = 1_000_000

    package init() {}

    /// Reads `recovery.*`.
    package init(_ settings: inout SettingsReader) {
        isAutomatic = settings.boolean(
            "recovery.automatic", default: isAutomatic,
            "After an outage of Apple's, consumers fetch what was missed and settle what is in doubt.")
        margin = settings.duration(
            "recovery.margin", default: margin, in: .seconds(60) ... .seconds(7 * 86_400),
            "So much before the outage was noticed the notification history is asked for.")
        lanes = settings.integer(
            "recovery.lanes", default: lanes, in: 1...32,
            "Parts of the notification history, or subscriptions, that are asked for at a time; the call budget holds beside."
        )
        lookEvery = settings.duration(
            "recovery.lookEvery", default: lookEvery, in: .milliseconds(100) ... .seconds(300),
            "How often a consumer looks in Redis for recoveries that are to be done or went unfinished.")
        seenKept = settings.duration(
            "recovery.seenKept", default: seenKept, in: .seconds(3600) ... .seconds(180 * 86_400),
            "How long the UUIDs of applied notifications are remembered, to tell what a backfill brings that is new.")
        seenMaximum = settings.integer(
            "recovery.seenMaximum", default: seenMaximum, in: 1000...100_000_000,
            "How many of these UUIDs are remembered for each app and environment; about 150 bytes of Redis each.")
    }
}
