internal import CRabbitMQ

/// Questions whose asking changes nothing. AMQP has few of them, so some are requests that RabbitMQ judges and then cannot
/// carry out, because of an argument that it refuses only after the judging. Each wait ends with the connect timeout, and
/// a refusal closes the channel (`reopenChannel`).
extension ConnectionHandle {
    /// What the broker said of itself at login, texts only.
    var serverProperties: [String: String] {
        guard let table = unsafe amqp_get_server_properties(state)?.pointee else { return [:] }
        var properties: [String: String] = [:]
        for index in 0..<Int(max(0, unsafe table.num_entries)) {
            let entry = unsafe table.entries[index]
            if let text = unsafe entry.value.text { unsafe properties[entry.key.text] = text }
        }
        return properties
    }

    /// What is ready in a queue and who consumes from it.
    func state(of queue: String) throws(BrokerError) -> (messages: Int, consumers: Int) {
        defer { scratch.recycle() }
        let answer = unsafe amqp_queue_declare(
            state, Self.channel, scratch.bytes(queue), 1, 0, 0, 0, amqp_empty_table)
        try checkReply("look at queue \(queue)")
        guard let answer = unsafe answer else { return (0, 0) }
        return unsafe (Int(answer.pointee.message_count), Int(answer.pointee.consumer_count))
    }

    /// Compares a queue with `queue` and never makes it: quorum queues and streams have no such argument, and no queue
    /// takes a word for it, so there is no queue that could be made. An existing one is not compared by it.
    func compare(_ queue: Topology.Queue, isDurable: Bool) throws(BrokerError) {
        defer { scratch.recycle() }
        let arguments = queue.arguments + [(Self.impossibleQueueArgument, .text("holdfast"))]
        unsafe amqp_queue_declare(
            state, Self.channel, scratch.bytes(queue.name), 0, isDurable ? 1 : 0, 0, 0, scratch.table(arguments))
        try checkReply("compare queue \(queue.name)")
    }

    /// Compares an exchange with `exchange` and never makes it: an alternate exchange is a name, and this is a number. It
    /// is compared last, so its being refused says that all else is the same.
    func compare(_ exchange: Topology.Exchange, isDurable: Bool) throws(BrokerError) {
        defer { scratch.recycle() }
        unsafe amqp_exchange_declare(
            state, Self.channel, scratch.bytes(exchange.name), scratch.bytes(exchange.kind), 0, isDurable ? 1 : 0, 0, 0,
            scratch.table([(Self.impossibleExchangeArgument, .number(0))]))
        try checkReply("compare exchange \(exchange.name)")
    }

    static let impossibleQueueArgument = "x-max-priority"
    static let impossibleExchangeArgument = "alternate-exchange"

    /// Throws `refused` if we may not read from a queue, and `topologyMismatch` if we may: a priority is a number.
    func mayConsume(from queue: String) throws(BrokerError) {
        try consume(queue, prefetch: 1, consumer: "doctor", arguments: [("x-priority", .text("holdfast"))])
    }

    /// Throws `refused` if we may not bind `queue` to `exchange`, and `notFound` if we may: one of them does not exist.
    func mayBind(_ queue: String, to exchange: String) throws(BrokerError) {
        try bind(Topology.Binding(queue: queue, exchange: exchange))
    }

    /// Sends a message that no queue gets, with an expiry that is none. Throws `refused` if we may not write to the
    /// exchange, and `topologyMismatch` if we may, or if the body is larger than the broker takes.
    func publishInVain(to exchange: String, bodyBytes: Int = 0, waiting: Duration) throws(BrokerError) {
        defer { scratch.recycle() }
        var properties = unsafe amqp_basic_properties_t()
        unsafe properties._flags = amqp_flags_t(bitPattern: AMQP_BASIC_EXPIRATION_FLAG)
        unsafe properties.expiration = scratch.bytes("holdfast")
        let status = unsafe [UInt8](repeating: 0, count: bodyBytes).withUnsafeBytes { body in
            let bytes = unsafe amqp_bytes_t(len: body.count, bytes: UnsafeMutableRawPointer(mutating: body.baseAddress))
            return callGuard.bound(waiting: waiting) {
                unsafe amqp_basic_publish(
                    state, Self.channel, scratch.bytes(exchange), scratch.bytes("doctor"), 1, 0, &properties, bytes)
            }
        }
        try check(status, "publish to \(exchange.isEmpty ? "the default exchange" : exchange)")
        while let event = try nextEvent(waiting: waiting) {
            if case .blocked(let reason) = event { throw BrokerError(.blocked, reason) }
        }
        throw BrokerError(.timedOut, "publish to \(exchange): no answer")
    }
}
