/// What the gateway has acknowledged or is about to: a raw body on its way to a queue, with what is known about it.
package struct IntakeMessage: Sendable, Hashable {
    package enum Destination: String, Sendable, Hashable {
        /// To be applied, and into the ledger.
        case intake
        /// Kept for people and for later: it cannot be judged or used now.
        case quarantine
    }

    package var destination: Destination
    /// `app`, `environment`, `address` (when Apple posted to another environment's), `correlation`, `received-at`, `reason`, `spooled`.
    package var headers: [String: String]
    /// The notification's UUID: Apple's repeats carry the same one.
    package var messageID: String?
    package var body: [UInt8]

    package init(
        destination: Destination = .intake, headers: [String: String] = [:], messageID: String? = nil, body: [UInt8]
    ) {
        self.destination = destination
        self.headers = headers
        self.messageID = messageID
        self.body = body
    }
}

/// Names that no header has, for what else must survive in the spool.
private enum Attribute {
    static let destination = ":destination"
    static let messageID = ":message-id"
}

extension IntakeMessage {
    /// As it lies in the spool.
    package var record: SpoolRecord {
        var attributes = headers
        attributes[Attribute.destination] = destination.rawValue
        attributes[Attribute.messageID] = messageID
        return SpoolRecord(attributes: attributes, body: body)
    }

    /// A message back from the spool. One of a destination that this version does not know goes to quarantine.
    package init(spooled record: SpoolRecord) {
        var headers = record.attributes
        messageID = headers.removeValue(forKey: Attribute.messageID)
        destination = headers.removeValue(forKey: Attribute.destination).flatMap(Destination.init) ?? .quarantine
        headers["spooled"] = "true"
        self.headers = headers
        body = record.body
    }
}
