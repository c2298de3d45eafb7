internal import Runtime

/// What the cache counts.
struct CacheMetrics: Sendable {
    let bytes: Gauge
    let customers: Gauge
    let evictions: Counter
    let hits: Counter
    let misses: Counter
    let fallbacks: Counter
    let snapshots: Counter
    let loads: Counter
    let failedLoads: Counter
    let repeatedLoads: Counter
    let changes: Counter
    let resets: Counter
    let feedIsLive: Gauge

    init(_ metrics: Metrics) {
        bytes = metrics.gauge("holdfast_cache_memory_bytes", "Estimated size of what is in memory.")
        customers = metrics.gauge("holdfast_cache_memory_customers", "Customers in memory, unknown ones included.")
        evictions = metrics.counter("holdfast_cache_evictions_total", "Customers dropped for want of room.")
        func reads(_ result: String) -> Counter {
            metrics.counter(
                "holdfast_cache_reads_total", "Reads by where they were answered.", labels: ["result": result])
        }
        hits = reads("memory")
        misses = reads("store")
        fallbacks = reads("outdated_memory")
        snapshots = reads("snapshot")
        func loads(_ result: String) -> Counter {
            metrics.counter("holdfast_cache_loads_total", "Reads from the store.", labels: ["result": result])
        }
        self.loads = loads("read")
        failedLoads = loads("failed")
        repeatedLoads = loads("repeated")
        changes = metrics.counter("holdfast_feed_changes_total", "Changes that the feed told of.")
        resets = metrics.counter("holdfast_feed_resets_total", "Times that the feed lost its place.")
        feedIsLive = metrics.gauge("holdfast_feed_live", "Whether the change feed is followed without delay.")
    }
}
