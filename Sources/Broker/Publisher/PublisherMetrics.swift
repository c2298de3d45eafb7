internal import Runtime

/// What a publisher counts.
struct PublisherMetrics: Sendable {
    let published: Counter
    let confirmed: Counter
    let refused: Counter
    let unroutable: Counter
    let timedOut: Counter
    let lost: Counter
    let overloaded: Counter
    let unreachable: Counter
    let connections: Counter
    let inFlight: Gauge
    let waiting: Gauge
    let blocked: Gauge
    let connected: Gauge
    let confirmSeconds: Histogram

    init(_ metrics: Metrics, publisher: String) {
        func outcome(_ outcome: String) -> Counter {
            metrics.counter(
                "holdfast_broker_publishes_total", "Messages given to a publisher, by what became of them.",
                labels: ["publisher": publisher, "outcome": outcome])
        }
        let labels: Metrics.Labels = ["publisher": publisher]
        published = metrics.counter("holdfast_broker_sent_total", "Messages sent to the broker.", labels: labels)
        confirmed = outcome("confirmed")
        refused = outcome("refused")
        unroutable = outcome("unroutable")
        timedOut = outcome("timedOut")
        lost = outcome("lost")
        overloaded = outcome("overloaded")
        unreachable = outcome("unreachable")
        connections = metrics.counter(
            "holdfast_broker_publisher_connections_total", "Connections made, the first and each again.",
            labels: labels)
        inFlight = metrics.gauge("holdfast_broker_in_flight", "Messages sent and not confirmed.", labels: labels)
        waiting = metrics.gauge("holdfast_broker_waiting", "Messages waiting to be sent.", labels: labels)
        blocked = metrics.gauge(
            "holdfast_broker_blocked", "1 while the broker takes nothing because of an alarm.", labels: labels)
        connected = metrics.gauge("holdfast_broker_connected", "1 while connected.", labels: labels)
        confirmSeconds = metrics.histogram(
            "holdfast_broker_confirm_seconds", "From sending a message to its confirm.", labels: labels)
    }
}
