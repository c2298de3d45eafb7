internal import Runtime

/// What asking for revocation counts.
struct RevocationMetrics: Sendable {
    private let metrics: Metrics
    private let time: Histogram
    private let age: Histogram

    init(_ metrics: Metrics) {
        self.metrics = metrics
        time = metrics.histogram("holdfast_ocsp_request_seconds", "From the question to the end of the answer.")
        age = metrics.histogram(
            "holdfast_ocsp_answer_age_seconds", "Age of a kept answer when it is used.",
            buckets: [1, 10, 60, 300, 900, 1800, 3600, 21_600, 86_400, 604_800])
    }

    func checked(_ status: RevocationStatus) {
        metrics.counter(
            "holdfast_ocsp_checks_total", "Certificates looked up for signed data, by what is known of them.",
            labels: ["result": status.code]
        ).increment()
    }

    func answerUsed(age: Duration) { self.age.record(age) }

    func asked(_ result: Result<OCSPAnswer, OCSPFailure>, in time: Duration) {
        self.time.record(time)
        let label =
            switch result {
            case .success(let answer):
                switch answer.verdict {
                case .good: "good"
                case .revoked: "revoked"
                case .unknown: "unknown"
                }
            case .failure(let failure): failure.code.rawValue
            }
        metrics.counter(
            "holdfast_ocsp_requests_total", "Questions to responders, by how they ended.", labels: ["result": label]
        ).increment()
    }
}
