internal import Runtime

/// What the spool counts.
struct SpoolMetrics: Sendable {
    let appended: Counter
    let failed: @Sendable (SpoolError) -> Counter
    let commitSeconds: Histogram
    let pending: Gauge
    let bytes: Gauge
    let damaged: Counter
    let torn: Counter
    let cursorFailures: Counter

    init(_ metrics: Metrics) {
        appended = metrics.counter("holdfast_spool_appended_total", "Records made durable in the spool.")
        failed = { error in
            metrics.counter(
                "holdfast_spool_append_failures_total", "Records that the spool could not make durable.",
                labels: ["reason": error.reason])
        }
        commitSeconds = metrics.histogram(
            "holdfast_spool_commit_seconds", "Time to write and sync one group of records.")
        pending = metrics.gauge("holdfast_spool_pending_records", "Records that are not with the broker yet.")
        bytes = metrics.gauge("holdfast_spool_disk_bytes", "Room that the spool's segments take.")
        damaged = metrics.counter(
            "holdfast_spool_damaged_total", "Places in the spool that could not be read and were set aside.")
        torn = metrics.counter(
            "holdfast_spool_torn_tails_total", "Unfinished writes that were cut off when the spool was opened.")
        cursorFailures = metrics.counter(
            "holdfast_spool_cursor_failures_total",
            "Times the read position or a drained segment could not be written off.")
    }
}
