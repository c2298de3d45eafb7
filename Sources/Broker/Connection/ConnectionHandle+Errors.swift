internal import CRabbitMQ

/// From librabbitmq's three ways of saying that something went wrong to one.
extension ConnectionHandle {
    func checkReply(_ operation: String) throws(BrokerError) {
        unsafe try Self.check(amqp_get_rpc_reply(state), operation)
    }

    func check(_ status: Int32, _ operation: String) throws(BrokerError) {
        guard status < 0 else { return }
        if callGuard.hasFired { throw BrokerError(.timedOut, "\(operation): the broker took nothing in time") }
        throw Self.failure(status, operation)
    }

    static func check(_ reply: amqp_rpc_reply_t, _ operation: String) throws(BrokerError) {
        switch unsafe reply.reply_type {
        case AMQP_RESPONSE_NORMAL: return
        case AMQP_RESPONSE_SERVER_EXCEPTION: throw unsafe closed(reply.reply, operation)
        default: throw unsafe failure(reply.library_error, operation)
        }
    }

    static func failure(_ status: Int32, _ operation: String) -> BrokerError {
        BrokerError(
            status == AMQP_STATUS_TIMEOUT.rawValue ? .timedOut : .unreachable, "\(operation): \(text(of: status))")
    }

    static func text(of status: Int32) -> String { unsafe String(cString: amqp_error_string2(status)) }

    /// The broker closed the connection or the channel: its code decides ours.
    static func closed(_ method: amqp_method_t, _ operation: String) -> BrokerError {
        guard let decoded = unsafe method.decoded else { return BrokerError(.unreachable, "\(operation): closed") }
        let (code, reason): (UInt16, String)
        switch unsafe method.id {
        case HOLDFAST_CONNECTION_CLOSE:
            let close = unsafe decoded.assumingMemoryBound(to: amqp_connection_close_t.self).pointee
            (code, reason) = unsafe (close.reply_code, close.reply_text.text)
        case HOLDFAST_CHANNEL_CLOSE:
            let close = unsafe decoded.assumingMemoryBound(to: amqp_channel_close_t.self).pointee
            (code, reason) = unsafe (close.reply_code, close.reply_text.text)
        case let id: return BrokerError(.protocolViolation, "\(operation): method \(id) came instead of the answer")
        }
        let kind: BrokerError.Code =
            switch code {
            case 403, 530: .refused
            // It is there, and its node is not up yet.
            case 404 where reason.hasSuffix("is down or inaccessible"): .unreachable
            case 404: .notFound
            case 406: .topologyMismatch
            case 320: .unreachable
            default: .protocolViolation
            }
        return BrokerError(kind, "\(operation): \(code) \(reason)")
    }
}
