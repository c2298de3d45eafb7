package import Time

/// What is published: a body and what is said about it. Always persistent.
package struct BrokerMessage: Sendable, Hashable {
    package var body: [UInt8]
    package var headers: [String: String]
    package var messageID: String?
    package var type: String?
    package var contentType: String?
    /// The protocol carries whole seconds.
    package var timestamp: Timestamp?

    package init(
        body: [UInt8], headers: [String: String] = [:], messageID: String? = nil, type: String? = nil,
        contentType: String? = nil, timestamp: Timestamp? = nil
    ) {
        self.body = body
        self.headers = headers
        self.messageID = messageID
        self.type = type
        self.contentType = contentType
        self.timestamp = timestamp
    }
}

/// A message as it came from a queue.
package struct BrokerDelivery: Sendable {
    /// As it was published. Headers that the broker added (`x-…`), those with parts, and what is too much (beyond
    /// 48 KiB, if it is more than 64 KiB in all) are left out.
    package let message: BrokerMessage
    package let exchange: String
    package let routingKey: String
    package let isRedelivered: Bool
    /// How often a quorum queue has given this message to somebody who did not acknowledge it.
    package let deliveryCount: Int
    /// The position in a stream, when it came from one.
    package let streamOffset: Int64?

    /// Valid on the connection it came by, and on no other.
    let tag: UInt64
    var connection: UInt64 = 0

    init(
        message: BrokerMessage, exchange: String, routingKey: String, isRedelivered: Bool, deliveryCount: Int,
        streamOffset: Int64?, tag: UInt64, connection: UInt64 = 0
    ) {
        self.message = message
        self.exchange = exchange
        self.routingKey = routingKey
        self.isRedelivered = isRedelivered
        self.deliveryCount = deliveryCount
        self.streamOffset = streamOffset
        self.tag = tag
        self.connection = connection
    }

    /// One that came from no broker.
    package init(_ message: BrokerMessage, from queue: String, isRedelivered: Bool) {
        self.init(
            message: message, exchange: "", routingKey: queue, isRedelivered: isRedelivered, deliveryCount: 0,
            streamOffset: nil, tag: 0)
    }
}

/// What becomes of a delivery once its handler is done with it.
package enum Settlement: Sendable, Hashable {
    case acknowledge
    /// Back to the queue, to be delivered again at once. To wait, publish to a retry queue and acknowledge.
    case requeue
}
