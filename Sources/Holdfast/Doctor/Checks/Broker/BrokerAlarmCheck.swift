import Broker

/// Whether RabbitMQ takes messages now.
struct BrokerAlarmCheck: Check {
    let name = "rabbitmq intake"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withBroker { broker throws(BrokerError) in
            switch try await broker.intake() {
            case .open: .fine("open: no alarm is on")
            case .blocked(let reason):
                .wrong(
                    "blocked by an alarm: \(reason). Notifications go to the spool and are acknowledged",
                    reason.contains("disk")
                        ? "Make room on RabbitMQ's disk (rabbitmqctl status shows disk_free_limit)."
                        : "rabbitmqctl status shows what takes the memory; see vm_memory_high_watermark.")
            }
        }
    }
}
