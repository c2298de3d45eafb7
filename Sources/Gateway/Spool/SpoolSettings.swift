package import Runtime

/// ## Keys
/// - `spool.folder`: a folder on a local disk, for one gateway alone.
/// - `spool.maxBytes`: what the segments may take of the disk in all.
/// - `spool.segmentBytes`: what is reserved at a time; a record must fit into it.
/// - `spool.maxWaitingBytes`: what may wait in memory for the disk.
/// - `spool.stallLimit`: a write to the disk that takes longer counts as failed, and nothing waits for it.
/// - `spool.drainWindow`: records on their way to the broker at a time while draining.
package struct SpoolSettings: Sendable, Hashable {
    package var folder: String
    package var maxBytes: Int
    package var segmentBytes: Int
    package var maxWaitingBytes: Int
    package var stallLimit: Duration
    package var drainWindow: Int

    package init(
        folder: String, maxBytes: Int = 4 << 30, segmentBytes: Int = 64 << 20, maxWaitingBytes: Int = 64 << 20,
        stallLimit: Duration = .seconds(5), drainWindow: Int = 128
    ) {
        self.folder = folder
        self.maxBytes = maxBytes
        self.segmentBytes = segmentBytes
        self.maxWaitingBytes = maxWaitingBytes
        self.stallLimit = stallLimit
        self.drainWindow = drainWindow
    }

    package init(_ settings: inout SettingsReader) {
        folder = settings.string(
            "spool.folder", default: "spool",
            "Folder on a local disk where the gateway keeps what the broker cannot take; one gateway each.")
        if folder.isEmpty { settings.complain(about: "spool.folder", "must name a folder") }
        maxBytes = settings.byteCount(
            "spool.maxBytes", default: 4 << 30, in: 1 << 20...1 << 42,
            "Room for the spool; when it is used up, Apple is answered 503 and sends again.")
        segmentBytes = settings.byteCount(
            "spool.segmentBytes", default: 64 << 20, in: 1 << 20...1 << 30,
            "Size of the spool's files, reserved when one is begun.")
        if segmentBytes > maxBytes {
            settings.complain(about: "spool.maxBytes", "must be at least spool.segmentBytes, or nothing can be spooled")
        }
        maxWaitingBytes = settings.byteCount(
            "spool.maxWaitingBytes", default: 64 << 20, in: 1 << 20...1 << 32,
            "Memory for bodies that wait for the spool's disk.")
        stallLimit = settings.duration(
            "spool.stallLimit", default: .seconds(5), in: .milliseconds(100) ... .seconds(60),
            "A write to the spool's disk that takes longer counts as failed.")
        drainWindow = settings.integer(
            "spool.drainWindow", default: 128, in: 1...4096,
            "Spooled records that are on their way to the broker at a time.")
    }
}
