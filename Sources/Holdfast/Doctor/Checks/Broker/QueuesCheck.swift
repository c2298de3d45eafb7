import Broker

/// What lies in the queues.
struct QueuesCheck: Check {
    let name = "rabbitmq queues"
    let patient: Patient

    func examine() async -> Finding {
        let settings = patient.settings.broker
        return await patient.withBroker { broker throws(BrokerError) in
            let states = try await broker.queueStates()
            func count(_ queue: String) -> Int { states.first { $0.name == queue }?.messages ?? 0 }
            let retries = RetryLevel.allCases.map { count(settings.names.retry($0)) }.reduce(0, &+)
            let (apply, quarantine) = (count(settings.names.apply), count(settings.names.quarantine))
            var findings: [Finding] = []
            for (name, waiting, limit) in [
                ("apply", apply, settings.applyMaximumLength),
                ("quarantine", quarantine, settings.quarantineMaximumLength),
            ] where waiting >= limit / 10 * 8 {
                findings.append(
                    .wrong(
                        "\(settings.prefix).\(name) holds \(waiting) of \(limit): full, it refuses",
                        name == "apply"
                            ? "Start more consumers; see the lines on Redis." : "holdfast quarantine list, then retry.")
                )
            }
            if quarantine > 0 {
                findings.append(
                    .warning(
                        "\(quarantine) in quarantine: Apple signed them and they cannot be used yet",
                        "holdfast quarantine list says why; holdfast quarantine retry puts them back to work."))
            }
            if retries > 0 {
                findings.append(
                    .warning(
                        "\(retries) wait to be tried again: Redis or RabbitMQ failed while they were applied",
                        "They come back by themselves, after half an hour at most. The consumer's log says what failed."
                    ))
            }
            if apply > 10_000 {
                findings.append(
                    .warning(
                        "\(apply) wait to be applied: answers are behind", "Is a consumer running? Start more of them.")
                )
            }
            return .of(findings, otherwise: "\(apply) to apply, \(retries) to try again, \(quarantine) in quarantine")
        }
    }
}
