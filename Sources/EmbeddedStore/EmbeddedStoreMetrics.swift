internal import Runtime

struct EmbeddedStoreMetrics: Sendable {
    let transactions: Counter
    let failures: Counter
    let commit: Histogram

    init(_ metrics: Metrics) {
        transactions = metrics.counter(
            "holdfast_embedded_transactions_total", "Transactions of the embedded store that are on the disk.")
        failures = metrics.counter(
            "holdfast_embedded_failures_total", "Transactions that the embedded store's file did not take.")
        commit = metrics.histogram(
            "holdfast_embedded_commit_seconds", "From the begin of a transaction until it is on the disk.")
    }
}
