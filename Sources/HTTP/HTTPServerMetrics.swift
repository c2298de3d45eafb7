internal import Runtime
internal import Time

/// What a listener counts. `listener` is the name from its settings.
struct HTTPServerMetrics: Sendable {
    let connections: Gauge
    let accepted: Counter
    let receivedBytes: Counter
    let sentBytes: Counter
    private let answers: [Counter]
    private let metrics: Metrics
    private let listener: String

    init(_ metrics: Metrics, listener: String) {
        self.metrics = metrics
        self.listener = listener
        connections = metrics.gauge(
            "holdfast_http_connections", "Open connections.", labels: ["listener": listener])
        accepted = metrics.counter(
            "holdfast_http_connections_total", "Accepted connections.", labels: ["listener": listener])
        receivedBytes = metrics.counter(
            "holdfast_http_received_bytes_total", "Bytes read from clients.", labels: ["listener": listener])
        sentBytes = metrics.counter(
            "holdfast_http_sent_bytes_total", "Bytes sent to clients.", labels: ["listener": listener])
        answers = (1...5).map { digit in
            metrics.counter(
                "holdfast_http_requests_total", "Answers by class of status, the core's own refusals included.",
                labels: ["listener": listener, "status": "\(digit)xx"])
        }
    }

    func shows(certificateUntil end: Timestamp) {
        metrics.gauge(
            "holdfast_tls_certificate_end_timestamp_seconds",
            "When the certificate ends that a listener shows: the one it has read, not the one in the file.",
            labels: ["listener": listener]
        ).set(Double(end.milliseconds) / 1000)
    }

    func answered(_ status: Int) {
        answers[min(max(status / 100, 1), 5) - 1].increment()
    }

    /// Counts what the core refused or cut off by itself; `reason` is one of `Refusal`'s or a deadline's name.
    func refused(_ reason: String) {
        metrics.counter(
            "holdfast_http_refused_total", "Requests and connections the HTTP core refused or cut off.",
            labels: ["listener": listener, "reason": reason]
        ).increment()
    }
}
