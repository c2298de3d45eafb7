internal import Runtime

/// What a subscription counts.
struct SubscriptionMetrics: Sendable {
    let delivered: Counter
    let redelivered: Counter
    let acknowledged: Counter
    let requeued: Counter
    /// Settled after their connection was lost: they are delivered again.
    let forgotten: Counter
    let connections: Counter
    let inHand: Gauge
    let connected: Gauge

    init(_ metrics: Metrics, subscription: String) {
        let labels: Metrics.Labels = ["subscription": subscription]
        func settlement(_ outcome: String) -> Counter {
            metrics.counter(
                "holdfast_broker_settlements_total", "Deliveries by what became of them.",
                labels: ["subscription": subscription, "outcome": outcome])
        }
        delivered = metrics.counter("holdfast_broker_deliveries_total", "Messages delivered.", labels: labels)
        redelivered = metrics.counter(
            "holdfast_broker_redeliveries_total", "Messages delivered that had been before.", labels: labels)
        acknowledged = settlement("acknowledged")
        requeued = settlement("requeued")
        forgotten = settlement("forgotten")
        connections = metrics.counter(
            "holdfast_broker_subscription_connections_total", "Connections made, the first and each again.",
            labels: labels)
        inHand = metrics.gauge("holdfast_broker_in_hand", "Deliveries not yet settled.", labels: labels)
        connected = metrics.gauge("holdfast_broker_subscribed", "1 while connected.", labels: labels)
    }
}
