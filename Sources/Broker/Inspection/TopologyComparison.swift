/// Compares what is there with `Topology`, without making anything.
struct TopologyComparison {
    let connection: ConnectionHandle

    func differences(from topology: Topology) throws(BrokerError) -> [TopologyDifference] {
        var differences: [TopologyDifference] = []
        for exchange in topology.exchanges { differences += try compare(exchange) }
        for queue in topology.queues { differences += try compare(queue) }
        return differences
    }

    /// RabbitMQ names one difference at a time, so what it named is put right in what it is asked next.
    private func compare(_ queue: Topology.Queue) throws(BrokerError) -> [TopologyDifference] {
        var differences: [TopologyDifference] = []
        var (asked, isDurable) = (queue, true)
        // More than there are arguments.
        for _ in 0..<16 {
            let error: BrokerError
            do {
                try connection.compare(asked, isDurable: isDurable)
                break
            } catch let refusal { error = refusal }
            try reopen(after: error)
            guard let difference = Inequivalence(error.detail),
                difference.argument != ConnectionHandle.impossibleQueueArgument
            else {
                if let fault = fault(error) { differences.append(TopologyDifference(.queue, queue.name, fault)) }
                break
            }
            differences.append(.init(.queue, queue.name, fault(difference)))
            guard difference.argument != "durable" else {
                isDurable.toggle()
                continue
            }
            guard let next = asked.with(difference.argument, difference.current) else { break }
            asked = next
        }
        return differences
    }

    private func compare(_ exchange: Topology.Exchange) throws(BrokerError) -> [TopologyDifference] {
        do {
            try connection.compare(exchange, isDurable: true)
            return []
        } catch {
            try reopen(after: error)
            guard let difference = Inequivalence(error.detail) else {
                return fault(error).map { [TopologyDifference(.exchange, exchange.name, $0)] } ?? []
            }
            // Asked for in vain, it is the last thing compared.
            let isSame =
                difference.argument == ConnectionHandle.impossibleExchangeArgument && difference.current.text == nil
            return isSame ? [] : [TopologyDifference(.exchange, exchange.name, fault(difference))]
        }
    }

    private func fault(_ difference: Inequivalence) -> TopologyDifference.Fault {
        .argument(difference.argument, expected: difference.received.shown, actual: difference.current.shown)
    }

    /// What a refusal says; nil for the one that says nothing but that our impossible argument was compared.
    private func fault(_ error: BrokerError) -> TopologyDifference.Fault? {
        switch error.code {
        case .refused: .forbidden(error.detail)
        // "invalid arg 'x-max-priority' for queue …": it would have been made.
        case .topologyMismatch: Inequivalence(error.detail) == nil ? .missing : nil
        default: .unavailable(error.detail)
        }
    }

    /// Goes on if it was the channel that was closed; throws what cost the connection.
    private func reopen(after error: BrokerError) throws(BrokerError) {
        switch error.code {
        case .refused, .topologyMismatch, .notFound: try connection.reopenChannel()
        default: throw error
        }
    }
}

extension Topology.Queue {
    /// The queue as it would be with RabbitMQ's value; nil if that value cannot be given back.
    fileprivate func with(_ argument: String, _ value: Inequivalence.Value) -> Topology.Queue? {
        var arguments = arguments
        let index = arguments.firstIndex { $0.name == argument }
        guard let text = value.text else {
            guard let index else { return nil }
            arguments.remove(at: index)
            return Topology.Queue(name: name, arguments: arguments)
        }
        let isNumber =
            if let index, case .number = arguments[index].value { true } else {
                index == nil && value.type != "longstr"
            }
        let given: Topology.Argument
        if isNumber {
            guard let number = Int64(text) else { return nil }
            given = .number(number)
        } else {
            given = .text(text)
        }
        if let index { arguments[index].value = given } else { arguments.append((argument, given)) }
        return Topology.Queue(name: name, arguments: arguments)
    }
}
