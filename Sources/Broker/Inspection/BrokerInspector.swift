internal import Runtime

/// Looks into queues and the ledger: for operators' commands and for tests. Each call makes a connection of its own and
/// blocks nobody.
package struct BrokerInspector: Sendable {
    let settings: BrokerSettings

    package init(settings: BrokerSettings) { self.settings = settings }

    /// Declares the topology.
    package func declareTopology() async throws(BrokerError) {
        try await run { [settings] connection throws(BrokerError) in try Topology(settings).declare(on: connection) }
    }

    /// Deletes all exchanges and queues of the prefix, with what is in them.
    package func deleteTopology() async throws(BrokerError) {
        try await run { [settings] connection throws(BrokerError) in
            let topology = Topology(settings)
            for queue in topology.queues { try connection.deleteQueue(queue.name) }
            for exchange in topology.exchanges { try connection.deleteExchange(exchange.name) }
        }
    }

    /// Makes a queue that gets all events from now on.
    package func makeQueue(ofEvents queue: String) async throws(BrokerError) {
        try await run { [settings] connection throws(BrokerError) in
            try Topology(settings).declare(on: connection)
            try connection.declare(Topology.Queue(name: queue, arguments: [("x-queue-type", .text("quorum"))]))
            try connection.bind(Topology.Binding(queue: queue, exchange: settings.names.events, routingKey: "#"))
        }
    }

    package func deleteQueue(_ queue: String) async throws(BrokerError) {
        try await run { connection throws(BrokerError) in try connection.deleteQueue(queue) }
    }

    /// Counts what is ready in a queue, which leaves out what consumers have in hand.
    package func messageCount(of queue: String) async throws(BrokerError) -> Int {
        try await run { connection throws(BrokerError) in try connection.messageCount(of: queue) }
    }

    /// Shows the first messages of a queue and leaves them there; their delivery counts grow.
    package func peek(_ queue: String, limit: Int) async throws(BrokerError) -> [BrokerDelivery] {
        try await run { connection throws(BrokerError) in try Self.get(connection, queue, limit) }
    }

    /// Removes the first messages of a queue and returns them.
    package func take(_ queue: String, limit: Int) async throws(BrokerError) -> [BrokerDelivery] {
        try await run { connection throws(BrokerError) in
            let deliveries = try Self.get(connection, queue, limit)
            if let last = deliveries.last { try connection.acknowledge(last.tag, multiple: true) }
            return deliveries
        }
    }

    private static func get(
        _ connection: ConnectionHandle, _ queue: String, _ limit: Int
    ) throws(BrokerError) -> [BrokerDelivery] {
        var deliveries: [BrokerDelivery] = []
        while deliveries.count < limit, let delivery = try connection.get(from: queue) { deliveries.append(delivery) }
        return deliveries
    }

    /// Reads the ledger in order until `limit` messages have come, or none has for `idle`: a stream has no end of its own.
    package func readLedger(
        from start: LedgerStart = .first, limit: Int = .max, idle: Duration = .seconds(1)
    ) async throws(BrokerError) -> [BrokerDelivery] {
        try await run { [names = settings.names] connection throws(BrokerError) in
            try LedgerReader.follow(names.ledger, from: start, prefetch: 100, on: connection)
            var deliveries: [BrokerDelivery] = []
            while deliveries.count < limit, let event = try connection.nextEvent(waiting: idle) {
                guard case .delivered(let delivery) = event else { continue }
                deliveries.append(delivery)
                // For a stream this means "send more".
                try connection.acknowledge(delivery.tag, multiple: false)
            }
            return deliveries
        }
    }

    /// Reads the ledger until a message has this id; nil if none has within `patience`.
    package func waitInLedger(
        for messageID: String, from start: LedgerStart, within patience: Duration
    ) async throws(BrokerError) -> BrokerDelivery? {
        try await run { [names = settings.names] connection throws(BrokerError) in
            let end = ContinuousClock.now + patience
            try LedgerReader.follow(names.ledger, from: start, prefetch: 100, on: connection)
            while case let left = end - .now, left > .zero, let event = try connection.nextEvent(waiting: left) {
                guard case .delivered(let delivery) = event else { continue }
                if delivery.message.messageID == messageID { return delivery }
                try connection.acknowledge(delivery.tag, multiple: false)
            }
            return nil
        }
    }

    func run<Value: Sendable>(
        _ body: @escaping @Sendable (ConnectionHandle) throws(BrokerError) -> Value
    ) async throws(BrokerError) -> Value {
        let settings = settings
        let result: Result<Value, BrokerError> = await withCheckedContinuation { continuation in
            do {
                try Thread.start(name: "broker-inspect") {
                    continuation.resume(
                        returning: Result { () throws(BrokerError) in
                            let connection = try ConnectionHandle(settings, name: "inspector")
                            let value = try body(connection)
                            connection.close()
                            return value
                        })
                }
            } catch {
                continuation.resume(returning: .failure(BrokerError(.unreachable, "\(error)")))
            }
        }
        return try result.get()
    }
}
