package import Runtime

/// How much is kept in memory and how long it is trusted.
package struct CacheSettings: Sendable {
    package var memoryBytes = 256 << 20
    /// The feed counts as live for so long after it was last heard (it is heard once a second when nothing changes).
    package var liveFor = Duration.seconds(5)
    /// How long an answer that cannot be confirmed is good for level A.
    package var staleBound = Duration.seconds(24 * 60 * 60)
    /// How long the feed waits for news before it asks again.
    package var feedWait = Duration.seconds(1)
    /// How often the feed asks where nothing can wait for news (a cluster).
    package var feedPoll = Duration.milliseconds(50)
    /// Entries taken from each of the 64 change streams at once; fewer than `StoreSettings.changesKept`, so that a batch
    /// that is not full shows that nothing was trimmed unread.
    package var feedBatch = 512
    /// Changed customers that are read again at the same time.
    package var refreshesAtOnce = 64

    package init() {}

    /// Reads `cache.*`.
    package init(_ settings: inout SettingsReader) {
        memoryBytes = settings.byteCount(
            "cache.memoryBytes", default: memoryBytes, in: (1 << 20)...(1 << 40), "Memory for customers, about.")
        liveFor = settings.duration(
            "cache.liveFor", default: liveFor, in: .seconds(1) ... .seconds(60),
            "How long after the change feed was last heard an answer from memory still counts as current (level S).")
        staleBound = settings.duration(
            "cache.staleBound", default: staleBound, in: .seconds(60) ... .seconds(30 * 24 * 3600),
            "How long an answer that cannot be confirmed is good for level A; after that it is B.")
        feedWait = settings.duration(
            "cache.feedWait", default: feedWait, in: .milliseconds(50) ... .seconds(20),
            "How long the change feed waits for news before it asks again; it must be well below cache.liveFor.")
        feedPoll = settings.duration(
            "cache.feedPoll", default: feedPoll, in: .milliseconds(5) ... .seconds(1),
            "How often the change feed asks a Redis Cluster for news, which cannot be waited for there.")
        feedBatch = settings.integer(
            "cache.feedBatch", default: feedBatch, in: 16...5000, "Changes taken from each change stream at once.")
        refreshesAtOnce = settings.integer(
            "cache.refreshesAtOnce", default: refreshesAtOnce, in: 1...1024,
            "Changed customers that are read again at the same time.")
        if feedWait * 2 > liveFor {
            settings.complain(about: "cache.feedWait", "must be at most half of cache.liveFor")
        }
    }
}
