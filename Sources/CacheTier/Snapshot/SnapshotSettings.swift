package import Runtime

/// ## Keys
/// - `snapshot.enabled`: whether a gateway keeps every customer's view on its disk.
/// - `snapshot.folder`: where; a folder for one gateway alone.
/// - `snapshot.patience`: how long a read waits for Redis before the snapshot is asked.
/// - `snapshot.seed`: whether a Redis that lost its data is filled from the snapshot by itself.
/// - `snapshot.seedRate`: how fast.
package struct SnapshotSettings: Sendable {
    package var isEnabled = true
    package var folder: String
    package var patience = Duration.seconds(1)
    package var seeds = true
    /// Lineages a second.
    package var seedRate = 2000

    /// Changed holders that wait for the disk; with more, the snapshot is filled anew once it can be.
    package var pendingBound = 200_000
    /// How often the time at which the feed was heard goes to the disk while nothing changes.
    package var heardEvery = Duration.seconds(10)
    /// The pause after what did not work: a disk that is full, a store that does not answer.
    package var pause = Duration.seconds(2)
    /// For tests that want a full disk, in pages of 4 KiB.
    package var maximumPages: Int64?

    package init(folder: String) { self.folder = folder }

    /// `spool` is the folder beside which it is when none is named.
    package init(_ settings: inout SettingsReader, besides spool: String) {
        isEnabled = settings.boolean(
            "snapshot.enabled", default: true,
            "Whether a gateway keeps every customer's view on its disk, to answer from when Redis is away.")
        let named = settings.optionalString(
            "snapshot.folder",
            "Folder on a local disk for the snapshot, one gateway each; `snapshot` in spool.folder if not set.")
        folder = named ?? "\(spool)/snapshot"
        patience = settings.duration(
            "snapshot.patience", default: patience, in: .milliseconds(10) ... .seconds(60),
            "How long a read waits for Redis before memory and the snapshot are asked.")
        seeds = settings.boolean(
            "snapshot.seed", default: true,
            "Whether a Redis that lost its data is filled again from the snapshot, by merging; see also holdfast snapshot restore."
        )
        seedRate = settings.integer(
            "snapshot.seedRate", default: seedRate, in: 1...1_000_000,
            "Subscriptions a second at which a Redis that lost its data is filled.")
    }
}
