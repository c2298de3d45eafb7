import AppStore
import Entitlements
import Runtime

/// What the consumer counts.
struct ConsumerMetrics: Sendable {
    private let metrics: Metrics
    private let applyTime: Histogram
    private let delay: Histogram
    private let resting: Gauge

    init(_ metrics: Metrics) {
        self.metrics = metrics
        applyTime = metrics.histogram(
            "holdfast_consumer_apply_seconds", "From the delivery of a notification to Redis' reply.")
        delay = metrics.histogram(
            "holdfast_consumer_delay_seconds", "From the intake of a notification to Redis' reply, when tried once.",
            buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3600])
        resting = metrics.gauge(
            "holdfast_consumer_resting", "1 while nothing is taken in because Redis or the broker is not there.")
    }

    func settled(_ label: String) {
        metrics.counter(
            "holdfast_consumer_deliveries_total", "Deliveries by what became of them.", labels: ["outcome": label]
        ).increment()
    }

    func applied(in time: Duration, sinceIntake delay: Duration?) {
        applyTime.record(time / .seconds(1))
        if let delay { self.delay.record(delay / .seconds(1)) }
    }

    func unexpected(_ transition: HistoryEntry) {
        metrics.counter(
            "holdfast_consumer_unexpected_transitions_total",
            "Transitions that were applied and that the table of states does not know.",
            labels: [
                "from": transition.fromName, "to": transition.toName, "cause": transition.cause.rawValue,
            ]
        ).increment()
    }

    /// Apple's types are few; one that is not known yet must not make a series of its own.
    func noted(_ type: Raw<NotificationType>?) {
        let label = type.map { $0.known?.rawValue ?? "other" } ?? "none"
        metrics.counter(
            "holdfast_consumer_noted_total", "Verified notifications without effect on any state, by Apple's type.",
            labels: ["type": label]
        ).increment()
    }

    /// By kind and not by member: the log line names those.
    func warned(_ warnings: NotificationWarnings) {
        for (kind, count) in warnings.counts {
            metrics.counter(
                "holdfast_consumer_unreadable_members_total",
                "Members of verified payloads that could not be read and count as absent, by the kind of payload.",
                labels: ["kind": kind.rawValue]
            ).increment(by: UInt64(count))
        }
    }

    func retry(_ cause: RetryCause) {
        metrics.counter(
            "holdfast_consumer_retries_total", "Deliveries sent to a retry level, by cause.",
            labels: ["cause": cause.rawValue]
        ).increment()
    }

    func quarantined(_ code: String) {
        metrics.counter(
            "holdfast_consumer_quarantined_total", "Deliveries put into quarantine, by reason.",
            labels: ["reason": code]
        ).increment()
    }

    func unmapped(_ app: String) {
        metrics.counter(
            "holdfast_consumer_unmapped_total", "Applied notifications whose product the product map does not know.",
            labels: ["app": app]
        ).increment()
    }

    /// `failed` is tried again, `lost` is not.
    func event(_ name: EventName, _ outcome: String) {
        metrics.counter(
            "holdfast_consumer_events_total", "Events for others, by name and by what became of them.",
            labels: ["event": name.rawValue, "outcome": outcome]
        ).increment()
    }

    /// What was decided here, since the gateway could not.
    func claimed(_ decision: ClaimDecision) {
        let word =
            switch decision {
            case .accepted: "claimed"
            case .alreadyTheirs: "alreadyYours"
            case .refused: "refused"
            }
        metrics.counter(
            "holdfast_consumer_claims_total", "Claims decided by the consumer, by decision.", labels: ["decision": word]
        ).increment()
    }

    /// Apple was asked about a lineage, and the answer is applied.
    func answered(_ purpose: StatusMessage.Purpose) {
        metrics.counter(
            "holdfast_consumer_answers_total",
            "Answers of Apple's about lineages that were applied, by why it was asked.",
            labels: ["purpose": purpose.rawValue]
        ).increment()
    }

    func undocumented() {
        metrics.counter(
            "holdfast_consumer_undocumented_total",
            "Notifications of a type, or with a subtype, that this version does not know."
        ).increment()
    }

    func isResting(_ value: Bool) { resting.set(value ? 1 : 0) }
}
