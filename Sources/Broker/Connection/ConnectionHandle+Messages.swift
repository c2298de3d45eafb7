internal import CRabbitMQ
internal import Time

/// What is sent without waiting for an answer.
extension ConnectionHandle {
    /// Sends a message. `correlation` comes back if it cannot be routed. Names and ids that are too long are cut, and
    /// headers beyond a frame's room are left out; the body is sent as it is.
    func publish(
        _ message: BrokerMessage, to exchange: String, routingKey: String, mandatory: Bool, correlation: UInt64
    ) throws(BrokerError) {
        defer { scratch.recycle() }
        var properties = unsafe amqp_basic_properties_t()
        var flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG
        unsafe properties.delivery_mode = UInt8(AMQP_DELIVERY_PERSISTENT.rawValue)
        unsafe properties.correlation_id = scratch.bytes("\(correlation)")
        if let value = message.contentType {
            flags |= AMQP_BASIC_CONTENT_TYPE_FLAG
            unsafe properties.content_type = scratch.bytes(WireLimits.short(value))
        }
        if let value = message.messageID {
            flags |= AMQP_BASIC_MESSAGE_ID_FLAG
            unsafe properties.message_id = scratch.bytes(WireLimits.short(value))
        }
        if let value = message.type {
            flags |= AMQP_BASIC_TYPE_FLAG
            unsafe properties.type = scratch.bytes(WireLimits.short(value))
        }
        if let value = message.timestamp {
            flags |= AMQP_BASIC_TIMESTAMP_FLAG
            unsafe properties.timestamp = UInt64(clamping: value.milliseconds / 1000)
        }
        if !message.headers.isEmpty {
            flags |= AMQP_BASIC_HEADERS_FLAG
            unsafe properties.headers = scratch.table(WireLimits.fitting(message.headers))
        }
        unsafe properties._flags = amqp_flags_t(bitPattern: flags)
        let (exchange, routingKey) = unsafe (
            scratch.bytes(WireLimits.short(exchange)), scratch.bytes(WireLimits.short(routingKey))
        )
        let status = unsafe message.body.withUnsafeBytes { body in
            let bytes = unsafe amqp_bytes_t(len: body.count, bytes: UnsafeMutableRawPointer(mutating: body.baseAddress))
            return callGuard.bound {
                unsafe amqp_basic_publish(
                    state, Self.channel, exchange, routingKey, mandatory ? 1 : 0, 0, &properties, bytes)
            }
        }
        try check(status, "publish")
    }

    func acknowledge(_ tag: UInt64, multiple: Bool) throws(BrokerError) {
        let status = callGuard.bound { unsafe amqp_basic_ack(state, Self.channel, tag, multiple ? 1 : 0) }
        try check(status, "acknowledge")
    }

    func requeue(_ tag: UInt64) throws(BrokerError) {
        let status = callGuard.bound { unsafe amqp_basic_nack(state, Self.channel, tag, 0, 1) }
        try check(status, "requeue")
    }
}
