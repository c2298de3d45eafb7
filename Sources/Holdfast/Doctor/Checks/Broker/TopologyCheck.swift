import Broker

/// Whether exchanges and queues are there and are as the settings ask for.
struct TopologyCheck: Check {
    let name = "rabbitmq topology"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withBroker { broker throws(BrokerError) in
            Self.finding(
                try await broker.compareTopology(), settings: patient.settings.broker,
                count: Topology(patient.settings.broker).objectCount)
        }
    }

    static func finding(_ differences: [TopologyDifference], settings: BrokerSettings, count: Int) -> Finding {
        let missing = differences.filter { $0.fault == .missing }
        if missing.count == count {
            return .fine("nothing is there yet; the first gateway or consumer makes it")
        }
        let findings = differences.map { difference in
            let what = "\(difference.kind.rawValue) \(difference.name)"
            switch difference.fault {
            case .missing:
                return Finding.wrong("\(what) is missing", "Start a gateway or a consumer: each makes what is missing.")
            case .argument(let argument, let expected, let actual):
                let remove = difference.kind == .queue ? "rabbitmqctl delete_queue \(difference.name)" : "delete it"
                return .wrong(
                    "\(what) has \(argument) \(actual), the settings ask for \(expected)",
                    "Set it back in the settings; or once the \(difference.kind.rawValue) is empty and not needed, \(remove)."
                )
            case .unavailable(let detail):
                return .wrong(
                    "\(what): \(detail)", "Is the node of the cluster up that has it? rabbitmqctl cluster_status")
            case .forbidden:
                return .wrong(
                    "\(settings.user) may not configure \(what)", BrokerPermissionsCheck.remedy(settings))
            }
        }
        return .of(findings, otherwise: "\(count) exchanges and queues, all as the settings ask for")
    }
}
