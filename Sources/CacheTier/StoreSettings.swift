package import Runtime

/// How the store in Redis is written.
package struct StoreSettings: Sendable {
    /// Entries kept in each of the 64 change streams, about. A follower that is further behind starts anew.
    package var changesKept = 10_000
    /// Tries to apply one observation while others change the same lineage.
    package var applyAttempts = 32

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
    }
}
