import Broker

/// Whether the user may write and read what it has to.
struct BrokerPermissionsCheck: Check {
    let name = "rabbitmq permissions"
    let patient: Patient

    func examine() async -> Finding {
        let settings = patient.settings.broker
        return await patient.withBroker { broker throws(BrokerError) in
            let missing = try await broker.missingPermissions()
            guard !missing.isEmpty else { return .fine("\(settings.user) may write and read all that it has to") }
            let what = missing.map { "\($0.rawValue) \($1)" }.joined(separator: ", ")
            return .wrong("\(settings.user) may not: \(what)", Self.remedy(settings))
        }
    }

    /// Configure, write, read; what is written to the default exchange goes to retry and quarantine.
    static func remedy(_ settings: BrokerSettings) -> String {
        let own = "^\(settings.prefix)\\..*"
        return
            "rabbitmqctl set_permissions -p \(settings.virtualHost) \(settings.user) '\(own)' '\(own)|^amq\\.default$' '\(own)'"
    }
}
