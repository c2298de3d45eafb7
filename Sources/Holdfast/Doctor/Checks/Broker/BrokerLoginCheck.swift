import Broker

/// Whether RabbitMQ answers and lets us in.
struct BrokerLoginCheck: Check {
    let name = "rabbitmq"
    let patient: Patient

    func examine() async -> Finding {
        let settings = patient.settings.broker
        let address = "\(settings.host):\(settings.port)"
        switch await patient.greeting.answer() {
        case .success(let greeting):
            let who = "\(greeting.product) \(greeting.version) at \(address)"
            guard Version(greeting.version) >= Version("3.10") else {
                return .wrong("\(who) is too old: streams and quorum queues are needed", "RabbitMQ 3.10 or newer.")
            }
            return .fine("\(who), \(greeting.cluster), logged in after \(greeting.took.short)")
        case .failure(let error): return finding(error, address)
        }
    }

    private func finding(_ error: BrokerError, _ address: String) -> Finding {
        let settings = patient.settings.broker
        switch error.code {
        case .refused where error.detail.contains("vhost"):
            return .wrong(
                "\(address) has no virtual host \(settings.virtualHost), or \(settings.user) may not enter it",
                "rabbitmqctl add_vhost \(settings.virtualHost); rabbitmqctl set_permissions -p \(settings.virtualHost) "
                    + "\(settings.user) '\(settings.prefix)\\..*' '\(settings.prefix)\\..*|amq\\.default' "
                    + "'\(settings.prefix)\\..*'")
        case .refused where error.detail.contains("ACCESS_REFUSED"):
            let remedy =
                "Look at broker.user and broker.passwordFile; rabbitmqctl authenticate_user \(settings.user) tries it."
            let sentence = "\(address) does not take the user \(settings.user) with this password"
            guard settings.user == "guest", !HostName.isThisMachine(settings.host) else {
                return .wrong(sentence, remedy)
            }
            return .wrong(sentence, remedy, "guest may log in from RabbitMQ's own machine only.")
        case .refused: return .wrong("\(address): \(error.detail)", "Look at the settings under broker.")
        case .timedOut:
            return .unreachable(
                "\(address) takes connections and does not answer (\(error.detail))",
                "It hangs, or something else listens there. RabbitMQ's log and rabbitmqctl status say more.")
        default:
            return .unreachable(
                "\(address) does not answer: \(error.detail)",
                "Is it running (systemctl status rabbitmq-server)? Are broker.host and broker.port right? Is a firewall "
                    + "between?",
                "Until it is back, notifications go to the spool and are acknowledged.")
        }
    }
}

/// A version's numbers, compared as numbers.
struct Version: Comparable {
    private let parts: [Int]
    init(_ text: String) { parts = text.split { !$0.isNumber }.prefix(3).map { Int($0) ?? 0 } }
    static func < (a: Version, b: Version) -> Bool { a.parts.lexicographicallyPrecedes(b.parts) }
}
