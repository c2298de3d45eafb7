package import Runtime

/// A store, a queue, or both in this process' own folder, instead of Redis and RabbitMQ.
package struct EmbeddedSettings: Sendable, Hashable {
    package enum StoreKind: String, CaseIterable, Sendable { case redis, embedded }
    package enum QueueKind: String, CaseIterable, Sendable { case rabbitmq, embedded }

    package var store = StoreKind.redis
    package var queue = QueueKind.rabbitmq
    package var folder = "embedded"
    package var storeMaximumBytes = 64 << 30
    package var queueMaximumBytes = 64 << 30
    package var ledgerMaximumAge = Duration.seconds(400 * 86_400)
    package var ledgerMaximumBytes = 16 << 30
    package var eventsKept = 100_000
    package var concurrency = 16

    package init() {}

    /// Reads `store.kind`, `queue.kind` and `embedded.*`.
    package init(_ settings: inout SettingsReader) {
        store = settings.choice(
            "store.kind", default: store,
            "Where the records are: in Redis, or in a file of this process (embedded; holdfast serve only).")
        queue = settings.choice(
            "queue.kind", default: queue,
            "Where notifications wait and are kept: in RabbitMQ, or in a file (embedded; holdfast serve only).")
        folder = settings.string(
            "embedded.folder", default: folder,
            "Folder on a local disk for the embedded store and queue; one process each. Back it up: it is all there is."
        )
        if folder.isEmpty { settings.complain(about: "embedded.folder", "must name a folder") }
        storeMaximumBytes = settings.byteCount(
            "embedded.storeMaximumBytes", default: storeMaximumBytes, in: 1 << 20...1 << 44,
            "Room for the embedded store; when it is used up, nothing is applied until there is more.")
        queueMaximumBytes = settings.byteCount(
            "embedded.queueMaximumBytes", default: queueMaximumBytes, in: 1 << 20...1 << 44,
            "Room for the embedded queue and ledger; when it is used up, notifications go to the spool.")
        ledgerMaximumAge = settings.duration(
            "embedded.ledgerMaximumAge", default: ledgerMaximumAge, in: .seconds(86_400) ... .seconds(10_000 * 86_400),
            "How long the embedded ledger keeps what came in.")
        ledgerMaximumBytes = settings.byteCount(
            "embedded.ledgerMaximumBytes", default: ledgerMaximumBytes, in: 1 << 20...1 << 44,
            "What the embedded queue's file may hold before the oldest of its ledger goes.")
        eventsKept = settings.integer(
            "embedded.eventsKept", default: eventsKept, in: 1000...100_000_000,
            "Outbound events kept for holdfast events; the oldest go first.")
        concurrency = settings.integer(
            "embedded.concurrency", default: concurrency, in: 1...1024, "Notifications applied at a time.")
    }

    package var storeFile: EmbeddedStoreSettings {
        EmbeddedStoreSettings(path: "\(folder)/store.db", maximumBytes: storeMaximumBytes)
    }

    package var queueFile: EmbeddedStoreSettings {
        EmbeddedStoreSettings(path: "\(folder)/queue.db", maximumBytes: queueMaximumBytes)
    }
}
