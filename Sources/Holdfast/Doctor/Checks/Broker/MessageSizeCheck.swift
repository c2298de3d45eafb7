import Broker
import Gateway

/// Whether RabbitMQ refuses messages that are too large to be handled.
struct MessageSizeCheck: Check {
    let name = "rabbitmq message size"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withBroker { broker throws(BrokerError) in
            if case .blocked = try await broker.intake() { return .notChecked("RabbitMQ takes nothing now") }
            let wanted = 16 << 20
            let needed = patient.settings.gateway.intakeBodyBytes + (64 << 10)
            guard let limit = try await broker.messageSizeLimit(below: wanted + 1) else {
                return .warning(
                    "RabbitMQ takes messages of more than 16 MiB; one that somebody sends cannot be moved to quarantine",
                    "max_message_size = \(wanted) in rabbitmq.conf")
            }
            guard limit >= needed else {
                return .wrong(
                    "RabbitMQ refuses messages of more than \(Size.text(UInt64(clamping: limit))); notifications may have "
                        + "gateway.intakeBodyBytes (\(Size.text(UInt64(patient.settings.gateway.intakeBodyBytes))))",
                    "max_message_size = \(wanted) in rabbitmq.conf")
            }
            return .fine("\(Size.text(UInt64(clamping: limit))) at most")
        }
    }
}
