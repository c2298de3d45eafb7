internal import Runtime

/// What the snapshot counts.
struct SnapshotMetrics: Sendable {
    let holders: Gauge
    let bytes: Gauge
    let lag: Gauge
    let pending: Gauge
    let isComplete: Gauge
    let isFollowing: Gauge
    let fills: Counter
    let setAside: Counter
    let damagedRows: Counter
    let written: Counter
    let commitSeconds: Histogram
    let found: Counter
    let unknown: Counter
    let failed: Counter
    let seeded: Counter
    let seededFraction: Gauge
    let owes: Gauge

    init(_ metrics: Metrics) {
        holders = metrics.gauge("holdfast_snapshot_holders", "Customers and unclaimed purchases in the snapshot.")
        bytes = metrics.gauge("holdfast_snapshot_bytes", "Size of the snapshot on the disk.")
        lag = metrics.gauge(
            "holdfast_snapshot_lag_seconds", "Age of what the snapshot holds: since the feed was heard that is in it.")
        pending = metrics.gauge("holdfast_snapshot_pending", "Changed customers that are not in the snapshot yet.")
        isComplete = metrics.gauge("holdfast_snapshot_complete", "Whether every customer of the store is in it.")
        isFollowing = metrics.gauge(
            "holdfast_snapshot_following", "Whether the snapshot takes changes in; 0 also while its disk is full.")
        fills = metrics.counter("holdfast_snapshot_fills_total", "Times that it was begun to be filled from the store.")
        setAside = metrics.counter(
            "holdfast_snapshot_set_aside_total", "Files that could not be used and were set aside.")
        damagedRows = metrics.counter(
            "holdfast_snapshot_damaged_rows_total", "Rows that were not what was written, and were not used.")
        written = metrics.counter("holdfast_snapshot_rows_total", "Rows written.")
        commitSeconds = metrics.histogram("holdfast_snapshot_commit_seconds", "Time to write a batch to the disk.")
        func reads(_ result: String) -> Counter {
            metrics.counter(
                "holdfast_snapshot_reads_total", "Reads of the snapshot by what came of them.",
                labels: ["result": result])
        }
        found = reads("found")
        unknown = reads("unknown")
        failed = reads("failed")
        seeded = metrics.counter(
            "holdfast_snapshot_seeded_total", "Subscriptions given back to a store that had lost its data.")
        seededFraction = metrics.gauge("holdfast_snapshot_seeded_fraction", "How far giving back is, 0 to 1.")
        owes = metrics.gauge(
            "holdfast_snapshot_owes_store", "Whether the store lost data that it was not seen to have got back.")
    }
}
