package import Runtime

/// How the store in Redis is written.
package struct StoreSettings: Sendable {
    /// Entries kept in each of the 64 change streams, about. A follower that is further behind starts anew.
    package var changesKept = 10_000
    /// Tries to apply one observation while others change the same lineage.
    package var applyAttempts = 32

    /// How long a request for consumption data is remembered while the App Store has not decided.
    package var refundRequestsKept = Duration.seconds(3 * 86_400)
    /// Entries kept of each lineage's history; the ledger has all that led to them.
    package var historyKept = 100

    package init() {}

    /// Reads `store.*`.
    package init(_ settings: inout SettingsReader) {
        changesKept = settings.integer(
            "store.changesKept", default: changesKept, in: 10_000...10_000_000,
            "Entries kept in each of the 64 change streams; a gateway that is further behind starts with an empty memory."
        )
        applyAttempts = settings.integer(
            "store.applyAttempts", default: applyAttempts, in: 1...1000,
            "Tries to apply one notification while others change the same subscription.")
        refundRequestsKept = settings.duration(
            "store.refundRequestsKept", default: refundRequestsKept, in: .seconds(3600) ... .seconds(60 * 86_400),
            "How long Apple's repeats of a CONSUMPTION_REQUEST lead to no further event, unless Apple decides before.")
        historyKept = settings.integer(
            "store.historyKept", default: historyKept, in: 20...10_000,
            "Entries kept of each subscription's history; how often it moved lately is counted from these.")
    }
}
