internal import CRabbitMQ
internal import Glibc

/// What the broker says of its own accord.
extension ConnectionHandle {
    /// Whether librabbitmq holds input that epoll knows nothing of.
    var hasInput: Bool { unsafe amqp_frames_enqueued(state) != 0 || amqp_data_in_buffer(state) != 0 }

    /// Reads what the broker has sent, up to the next event; nil when there is nothing more for now. Also sends a
    /// heartbeat if one is due, and throws if the broker's are overdue.
    func nextEvent(waiting: Duration = .zero) throws(BrokerError) -> ConnectionEvent? {
        while true {
            unsafe amqp_maybe_release_buffers(state)
            var frame = unsafe amqp_frame_t()
            var timeout = timeval(waiting)
            let status = callGuard.bound(waiting: waiting) {
                unsafe amqp_simple_wait_frame_noblock(state, &frame, &timeout)
            }
            if status == AMQP_STATUS_TIMEOUT.rawValue { return nil }
            try check(status, "read")
            if let event = unsafe try interpret(frame) { return event }
        }
    }

    private func interpret(_ frame: amqp_frame_t) throws(BrokerError) -> ConnectionEvent? {
        switch unsafe Int32(frame.frame_type) {
        case AMQP_FRAME_METHOD: return unsafe try interpret(frame.payload.method)
        case AMQP_FRAME_HEADER:
            guard let decoded = unsafe frame.payload.properties.decoded else { break }
            let properties = unsafe decoded.assumingMemoryBound(to: amqp_basic_properties_t.self)
            return unsafe try content.header(.init(properties), bodySize: frame.payload.properties.body_size)
        case AMQP_FRAME_BODY:
            let fragment = unsafe frame.payload.body_fragment
            return unsafe try content.body(UnsafeRawBufferPointer(start: fragment.bytes, count: fragment.len))
        case AMQP_FRAME_HEARTBEAT: return nil
        default: break
        }
        throw unsafe BrokerError(.protocolViolation, "a frame of type \(frame.frame_type)")
    }

    private func interpret(_ method: amqp_method_t) throws(BrokerError) -> ConnectionEvent? {
        let id = unsafe method.id
        guard let decoded = unsafe method.decoded else {
            throw BrokerError(.protocolViolation, "method \(id) without content")
        }
        switch id {
        case HOLDFAST_BASIC_ACK:
            let method = unsafe decoded.assumingMemoryBound(to: amqp_basic_ack_t.self).pointee
            return .confirmed(tag: method.delivery_tag, multiple: method.multiple != 0)
        case HOLDFAST_BASIC_NACK:
            let method = unsafe decoded.assumingMemoryBound(to: amqp_basic_nack_t.self).pointee
            return .refused(tag: method.delivery_tag, multiple: method.multiple != 0)
        case HOLDFAST_BASIC_RETURN:
            let method = unsafe decoded.assumingMemoryBound(to: amqp_basic_return_t.self).pointee
            try unsafe content.open(.returned(reason: "\(method.reply_code) \(method.reply_text.text)"))
            return nil
        case HOLDFAST_BASIC_DELIVER:
            let method = unsafe decoded.assumingMemoryBound(to: amqp_basic_deliver_t.self).pointee
            try unsafe content.open(
                .delivery(
                    tag: method.delivery_tag, redelivered: method.redelivered != 0, exchange: method.exchange.text,
                    routingKey: method.routing_key.text))
            return nil
        case HOLDFAST_BASIC_CANCEL: return .consumerCancelled
        case HOLDFAST_CONNECTION_BLOCKED:
            let method = unsafe decoded.assumingMemoryBound(to: amqp_connection_blocked_t.self).pointee
            return unsafe .blocked(reason: method.reason.text)
        case HOLDFAST_CONNECTION_UNBLOCKED: return .unblocked
        case HOLDFAST_CONNECTION_CLOSE, HOLDFAST_CHANNEL_CLOSE:
            throw unsafe Self.closed(method, "the connection")
        default: throw BrokerError(.protocolViolation, "method \(id)")
        }
    }
}
