internal import CRabbitMQ

/// Requests that wait for their answer, up to the connect timeout.
extension ConnectionHandle {
    func declare(_ exchange: Topology.Exchange) throws(BrokerError) {
        defer { scratch.recycle() }
        unsafe amqp_exchange_declare(
            state, Self.channel, scratch.bytes(exchange.name), scratch.bytes(exchange.kind), 0, 1, 0, 0,
            amqp_empty_table)
        try checkReply("declare exchange \(exchange.name)")
    }

    func declare(_ queue: Topology.Queue) throws(BrokerError) {
        defer { scratch.recycle() }
        unsafe amqp_queue_declare(
            state, Self.channel, scratch.bytes(queue.name), 0, 1, 0, 0, scratch.table(queue.arguments))
        try checkReply("declare queue \(queue.name)")
    }

    func bind(_ binding: Topology.Binding) throws(BrokerError) {
        defer { scratch.recycle() }
        unsafe amqp_queue_bind(
            state, Self.channel, scratch.bytes(binding.queue), scratch.bytes(binding.exchange),
            scratch.bytes(binding.routingKey), amqp_empty_table)
        try checkReply("bind \(binding.queue) to \(binding.exchange)")
    }

    /// Counts what is ready in a queue; throws `notFound` when there is none.
    func messageCount(of queue: String) throws(BrokerError) -> Int {
        defer { scratch.recycle() }
        let answer = unsafe amqp_queue_declare(
            state, Self.channel, scratch.bytes(queue), 1, 0, 0, 0, amqp_empty_table)
        try checkReply("look at queue \(queue)")
        return unsafe Int(answer?.pointee.message_count ?? 0)
    }

    /// Opens the channel again after the broker closed it to say no.
    func reopenChannel() throws(BrokerError) {
        var answer = amqp_channel_close_ok_t()
        let status = callGuard.bound {
            unsafe amqp_send_method(state, Self.channel, HOLDFAST_CHANNEL_CLOSE_OK, &answer)
        }
        try check(status, "close a channel")
        unsafe amqp_channel_open(state, Self.channel)
        try checkReply("open a channel")
    }

    func deleteQueue(_ queue: String) throws(BrokerError) {
        defer { scratch.recycle() }
        unsafe amqp_queue_delete(state, Self.channel, scratch.bytes(queue), 0, 0)
        try checkReply("delete queue \(queue)")
    }

    func deleteExchange(_ exchange: String) throws(BrokerError) {
        defer { scratch.recycle() }
        unsafe amqp_exchange_delete(state, Self.channel, scratch.bytes(exchange), 0)
        try checkReply("delete exchange \(exchange)")
    }

    func selectConfirms() throws(BrokerError) {
        unsafe amqp_confirm_select(state, Self.channel)
        try checkReply("ask for confirms")
    }

    func consume(
        _ queue: String, prefetch: Int, consumer: String, arguments: [(name: String, value: Topology.Argument)] = []
    ) throws(BrokerError) {
        defer { scratch.recycle() }
        unsafe amqp_basic_qos(state, Self.channel, 0, UInt16(clamping: prefetch), 0)
        try checkReply("limit what is in hand")
        unsafe amqp_basic_consume(
            state, Self.channel, scratch.bytes(queue), scratch.bytes(consumer), 0, 0, 0, scratch.table(arguments))
        try checkReply("consume from \(queue)")
    }

    /// No delivery comes after this, except those on their way already.
    func cancel(consumer: String) throws(BrokerError) {
        defer { scratch.recycle() }
        unsafe amqp_basic_cancel(state, Self.channel, scratch.bytes(consumer))
        try checkReply("stop consuming")
    }

    /// Asks for one message; it comes as an event. False when the queue is empty.
    func get(from queue: String) throws(BrokerError) -> BrokerDelivery? {
        defer { scratch.recycle() }
        let reply = unsafe amqp_basic_get(state, Self.channel, scratch.bytes(queue), 0)
        unsafe try Self.check(reply, "get from \(queue)")
        guard unsafe reply.reply.id != HOLDFAST_BASIC_GET_EMPTY, let decoded = unsafe reply.reply.decoded else {
            return nil
        }
        let method = unsafe decoded.assumingMemoryBound(to: amqp_basic_get_ok_t.self).pointee
        try unsafe content.open(
            .delivery(
                tag: method.delivery_tag, redelivered: method.redelivered != 0, exchange: method.exchange.text,
                routingKey: method.routing_key.text))
        while true {
            // The rest follows the method at once.
            if case .delivered(let delivery) = try nextEvent(waiting: .seconds(5)) { return delivery }
            throw BrokerError(.timedOut, "get from \(queue): the message did not follow")
        }
    }
}
