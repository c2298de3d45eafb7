internal import Runtime

/// Looking without touching: nothing here makes, takes or stores anything.
extension BrokerInspector {
    /// Who answers, once we are logged in.
    package struct Greeting: Sendable, Hashable {
        package let product: String
        package let version: String
        package let cluster: String
        /// From the first packet until logged in.
        package let took: Duration
    }

    package struct QueueState: Sendable, Hashable {
        package let name: String
        /// Ready, without what consumers have in hand; nil when there is no such queue.
        package let messages: Int?
        package let consumers: Int
    }

    /// Whether the broker takes messages.
    package enum Intake: Sendable, Hashable {
        case open
        /// An alarm is on; in the broker's words.
        case blocked(String)
    }

    package enum Permission: String, Sendable { case write, read }

    package func greet() async throws(BrokerError) -> Greeting {
        let start = ContinuousClock.now
        return try await run { connection throws(BrokerError) in
            let properties = connection.serverProperties
            return Greeting(
                product: properties["product"] ?? "something", version: properties["version"] ?? "?",
                cluster: properties["cluster_name"] ?? "?", took: .now - start)
        }
    }

    /// Compares exchanges and queues with what the settings ask for. Bindings cannot be asked for over AMQP.
    package func compareTopology() async throws(BrokerError) -> [TopologyDifference] {
        try await run { [settings] connection throws(BrokerError) in
            try TopologyComparison(connection: connection).differences(from: Topology(settings))
        }
    }

    /// What lies in each queue of the topology, in its order.
    package func queueStates() async throws(BrokerError) -> [QueueState] {
        try await run { [settings] connection throws(BrokerError) in
            var states: [QueueState] = []
            for queue in Topology(settings).queues {
                do throws(BrokerError) {
                    let state = try connection.state(of: queue.name)
                    states.append(QueueState(name: queue.name, messages: state.messages, consumers: state.consumers))
                } catch {
                    guard error.code == .notFound else { throw error }
                    try connection.reopenChannel()
                    states.append(QueueState(name: queue.name, messages: nil, consumers: 0))
                }
            }
            return states
        }
    }

    /// What the user may not do and must be able to. Permission to configure shows in `compareTopology`.
    package func missingPermissions() async throws(BrokerError) -> [(Permission, of: String)] {
        try await run { [settings] connection throws(BrokerError) in
            let names = settings.names
            let nothing = "\(settings.prefix).doctor.nothing"
            var missing: [(Permission, of: String)] = []
            func ask(
                _ permission: Permission, _ name: String, _ question: () throws(BrokerError) -> Void
            ) throws(BrokerError) {
                do throws(BrokerError) { try question() } catch {
                    switch error.code {
                    // The default exchange has no name, and RabbitMQ gives it one.
                    case .refused where error.detail.contains("'\(name.isEmpty ? "amq.default" : name)'"):
                        missing.append((permission, of: name.isEmpty ? "amq.default" : name))
                    case .refused, .topologyMismatch, .notFound: break
                    default: throw error
                    }
                    try connection.reopenChannel()
                }
            }
            for exchange in [names.intake, names.events, ""] {
                try ask(.write, exchange) { () throws(BrokerError) in
                    try connection.publishInVain(to: exchange, waiting: settings.connectTimeout)
                }
            }
            for queue in [names.apply, names.ledger] {
                try ask(.write, queue) { () throws(BrokerError) in try connection.mayBind(queue, to: nothing) }
            }
            try ask(.read, names.intake) { () throws(BrokerError) in
                try connection.mayBind(nothing, to: names.intake)
            }
            for queue in [names.apply, names.ledger, names.quarantine] {
                try ask(.read, queue) { () throws(BrokerError) in try connection.mayConsume(from: queue) }
            }
            return missing
        }
    }

    /// Whether a publisher is served now: sends a message to nobody and sees whether it comes back. Only who publishes is
    /// told of an alarm.
    package func intake() async throws(BrokerError) -> Intake {
        try await run { [settings] connection throws(BrokerError) in
            do throws(BrokerError) {
                try connection.publishInVain(to: "", waiting: settings.connectTimeout)
            } catch {
                switch error.code {
                case .blocked: return .blocked(error.detail)
                case .topologyMismatch:
                    try connection.reopenChannel()
                    return .open
                default: throw error
                }
            }
            return .open
        }
    }

    /// The size of message that the broker refuses, if it is less than `bytes`; nil if it takes so many. Sends as many, to
    /// nobody.
    package func messageSizeLimit(below bytes: Int) async throws(BrokerError) -> Int? {
        try await run { [settings] connection throws(BrokerError) in
            do throws(BrokerError) {
                try connection.publishInVain(to: "", bodyBytes: bytes, waiting: settings.connectTimeout)
            } catch {
                guard error.code == .topologyMismatch else { throw error }
                try connection.reopenChannel()
                // "message size 17825792 is larger than configured max size 16777216"
                guard error.detail.contains("max size"), let last = error.detail.split(separator: " ").last else {
                    return nil
                }
                return Int(last)
            }
            return nil
        }
    }
}
