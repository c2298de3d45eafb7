internal import Runtime

/// What one client counts.
struct RedisMetrics: Sendable {
    let connected: Gauge
    let disconnects: Counter
    let latency: Histogram
    private let answered: Counter
    private let refused: Counter
    private let failed: Counter

    init(_ metrics: Metrics, client: String) {
        connected = metrics.gauge(
            "holdfast_redis_connected", "Whether the connection to Redis stands.", labels: ["client": client])
        disconnects = metrics.counter(
            "holdfast_redis_disconnects_total", "Connections to Redis that broke.", labels: ["client": client])
        latency = metrics.histogram(
            "holdfast_redis_reply_seconds", "From sending a command to its reply.", labels: ["client": client])
        func commands(_ result: String) -> Counter {
            metrics.counter(
                "holdfast_redis_commands_total", "Commands by what became of them.",
                labels: ["client": client, "result": result])
        }
        answered = commands("answered")
        refused = commands("refused")
        failed = commands("failed")
    }

    func count(_ result: Result<RedisReply, RedisError>) {
        switch result {
        case .success(.error): refused.increment()
        case .success: answered.increment()
        case .failure: failed.increment()
        }
    }
}
