internal import Runtime

/// All exchanges, queues and bindings that Holdfast uses. Every process declares them on each connection; declaring what
/// is there already changes nothing.
///
/// | name | kind | why |
/// |---|---|---|
/// | `intake` | fanout exchange | one publish reaches `apply` and `ledger`, and the confirm comes after both |
/// | `apply` | quorum queue, bounded | the work; full, it refuses, so that the gateway spools |
/// | `ledger` | stream | raw bodies, replayable; bounded by size and age |
/// | `retry.<delay>` | quorum queue with TTL | dead-letters back to `apply`, at least once |
/// | `quarantine` | quorum queue, bounded | full, it refuses, so that nothing in it is dropped |
/// | `events` | topic exchange | what changed, for whoever binds a queue |
package struct Topology: Sendable {
    enum Argument: Sendable, Hashable {
        case text(String)
        case number(Int64)
        /// Whole seconds since 1970.
        case timestamp(Int64)
    }

    struct Exchange: Sendable {
        let name: String
        let kind: String
    }

    struct Queue: Sendable {
        let name: String
        let arguments: [(name: String, value: Argument)]
    }

    struct Binding: Sendable {
        let queue: String
        let exchange: String
        /// What a topic exchange sends there; to a fanout it makes no difference.
        var routingKey = ""
    }

    let exchanges: [Exchange]
    let queues: [Queue]
    let bindings: [Binding]
    private let settleTime: Duration

    package init(_ settings: BrokerSettings) {
        let names = settings.names
        settleTime = settings.topologySettleTime
        let refuseWhenFull: [(name: String, value: Argument)] = [
            ("x-queue-type", .text("quorum")),
            ("x-overflow", .text("reject-publish")),
        ]
        let applyLimit: (name: String, value: Argument) = (
            "x-max-length", .number(Int64(settings.applyMaximumLength))
        )
        exchanges = [
            Exchange(name: names.intake, kind: "fanout"),
            Exchange(name: names.events, kind: "topic"),
        ]
        queues =
            [
                // No x-delivery-limit: a quorum queue drops what exceeds it.
                Queue(name: names.apply, arguments: refuseWhenFull + [applyLimit]),
                Queue(
                    name: names.ledger,
                    arguments: [
                        ("x-queue-type", .text("stream")),
                        ("x-max-length-bytes", .number(Int64(settings.ledgerMaximumBytes))),
                        ("x-max-age", .text("\(settings.ledgerMaximumAge.components.seconds)s")),
                        ("x-stream-max-segment-size-bytes", .number(Int64(settings.ledgerSegmentBytes))),
                    ]),
                Queue(
                    name: names.quarantine,
                    arguments: refuseWhenFull + [("x-max-length", .number(Int64(settings.quarantineMaximumLength)))]),
            ]
            + RetryLevel.allCases.map { level in
                Queue(
                    name: names.retry(level),
                    // At-least-once dead-lettering needs reject-publish and a quorum queue.
                    arguments: refuseWhenFull + [
                        applyLimit,
                        ("x-message-ttl", .number(level.delay.components.seconds * 1000)),
                        ("x-dead-letter-exchange", .text("")),
                        ("x-dead-letter-routing-key", .text(names.apply)),
                        ("x-dead-letter-strategy", .text("at-least-once")),
                    ])
            }
        bindings = [
            Binding(queue: names.apply, exchange: names.intake),
            Binding(queue: names.ledger, exchange: names.intake),
        ]
    }

    /// Exchanges and queues together.
    package var objectCount: Int { exchanges.count + queues.count }

    /// Blocks until all is declared. Throws `topologyMismatch` with the queue, the argument and the remedy.
    ///
    /// RabbitMQ keeps the directory of its quorum queues and streams in a file that it saves up to a second after a change
    /// (`ra_directory`, two turns of 500 ms). Killed before, it starts a new queue empty, and a new ledger not at all. So
    /// after making a queue this waits, and nothing is confirmed that a crash could take back.
    func declare(on connection: ConnectionHandle) throws(BrokerError) {
        do {
            let isNew = try !isComplete(on: connection)
            for exchange in exchanges { try connection.declare(exchange) }
            for queue in queues { try connection.declare(queue) }
            for binding in bindings { try connection.bind(binding) }
            if isNew { Thread.sleep(settleTime) }
        } catch {
            throw Self.explained(error)
        }
    }

    private func isComplete(on connection: ConnectionHandle) throws(BrokerError) -> Bool {
        do {
            for queue in queues { _ = try connection.messageCount(of: queue.name) }
            return true
        } catch {
            guard error.code == .notFound else { throw error }
            try connection.reopenChannel()
            return false
        }
    }

    /// Adds to the broker's words, which name the object and the argument, what to do about it.
    static func explained(_ error: BrokerError) -> BrokerError {
        guard error.code == .topologyMismatch else { return error }
        // "PRECONDITION_FAILED - inequivalent arg 'x-max-length' for queue 'holdfast.apply' in vhost '/': received …"
        let quoted = error.detail.split(separator: "'", omittingEmptySubsequences: false)
        guard quoted.count > 3, quoted[2].hasPrefix(" for ") else { return error }
        let (argument, kind, name) = (quoted[1], quoted[2].dropFirst(5).dropLast(), quoted[3])
        return BrokerError(
            .topologyMismatch,
            """
            the \(kind) \(name) exists with another \(argument) than the settings ask for (\(error.detail)). \
            Set it back in the settings; or, if nothing in it is needed any more, delete it\
            \(kind == "queue" ? " (rabbitmqctl delete_queue \(name))" : "") and start again
            """)
    }
}
