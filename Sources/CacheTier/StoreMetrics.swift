internal import Runtime

/// What the store counts.
struct StoreMetrics: Sendable {
    let changed: Counter
    let unchanged: Counter
    let contended: Counter
    let conflicts: Counter
    let unreadableEntries: Counter

    init(_ metrics: Metrics) {
        func applied(_ result: String) -> Counter {
            metrics.counter(
                "holdfast_store_applied_total", "Observations by what applying them did.", labels: ["result": result])
        }
        changed = applied("changed")
        unchanged = applied("unchanged")
        contended = applied("contended")
        conflicts = metrics.counter(
            "holdfast_store_conflicts_total", "Times that somebody else changed a lineage in between.")
        unreadableEntries = metrics.counter(
            "holdfast_store_history_unreadable_total", "Entries of histories that this version could not read.")
    }
}
