/// What the broker says of its own accord.
enum ConnectionEvent: Sendable {
    /// It has taken the message `tag`, or all up to it.
    case confirmed(tag: UInt64, multiple: Bool)
    /// It has not taken the message `tag`, or none up to it.
    case refused(tag: UInt64, multiple: Bool)
    /// No queue is bound to where the message with this correlation was sent. The confirm follows.
    case returned(correlation: String, reason: String)
    case delivered(BrokerDelivery)
    /// The broker has ended the consumer: its queue is gone.
    case consumerCancelled
    case blocked(reason: String)
    case unblocked
}
