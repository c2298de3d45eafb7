/// Puts the frames of one content together: a method, a header, and as much of the body as it announced.
/// Pure; whatever does not fit is an error, since it comes from the network.
struct ContentAssembler {
    /// The properties of a content, as far as we use them.
    struct Properties {
        var message = BrokerMessage(body: [])
        var correlation = ""
        var deliveryCount = 0
        var streamOffset: Int64?
    }

    enum Opening {
        case delivery(tag: UInt64, redelivered: Bool, exchange: String, routingKey: String)
        case returned(reason: String)
    }

    private enum Stage {
        case idle
        case opened(Opening)
        case filling(Opening, Properties, left: UInt64)
    }

    /// A broker that announces more than this is not talked to any further.
    let maximumBodyBytes: UInt64
    private var stage = Stage.idle

    init(maximumBodyBytes: UInt64 = 64 << 20) { self.maximumBodyBytes = maximumBodyBytes }

    mutating func open(_ opening: Opening) throws(BrokerError) {
        guard case .idle = stage else { throw BrokerError(.protocolViolation, "a content began within another") }
        stage = .opened(opening)
    }

    /// Returns the event if the body is empty.
    mutating func header(_ properties: Properties, bodySize: UInt64) throws(BrokerError) -> ConnectionEvent? {
        guard case .opened(let opening) = stage else {
            throw BrokerError(.protocolViolation, "a content header came without its method")
        }
        guard bodySize <= maximumBodyBytes else {
            throw BrokerError(.protocolViolation, "a body of \(bodySize) bytes was announced")
        }
        var properties = properties
        properties.message.body.reserveCapacity(Int(bodySize))
        return advance(opening, properties, left: bodySize)
    }

    /// Returns the event once the body is whole.
    mutating func body(_ fragment: some Collection<UInt8>) throws(BrokerError) -> ConnectionEvent? {
        guard case .filling(let opening, var properties, let left) = stage, fragment.count <= left else {
            throw BrokerError(.protocolViolation, "a body came that was not announced")
        }
        stage = .idle
        properties.message.body.append(contentsOf: fragment)
        return advance(opening, properties, left: left - UInt64(fragment.count))
    }

    private mutating func advance(_ opening: Opening, _ properties: Properties, left: UInt64) -> ConnectionEvent? {
        guard left == 0 else {
            stage = .filling(opening, properties, left: left)
            return nil
        }
        stage = .idle
        switch opening {
        case .returned(let reason): return .returned(correlation: properties.correlation, reason: reason)
        case .delivery(let tag, let redelivered, let exchange, let routingKey):
            return .delivered(
                BrokerDelivery(
                    message: properties.message, exchange: exchange, routingKey: routingKey, isRedelivered: redelivered,
                    deliveryCount: properties.deliveryCount, streamOffset: properties.streamOffset, tag: tag))
        }
    }
}
