/// Somewhere a message can be made durable.
package protocol MessageSink: Sendable {
    /// False while an attempt is known to be in vain.
    var isHealthy: Bool { get }
    /// Returns once the message is durable, and throws otherwise; it may have arrived then nevertheless.
    func store(_ message: IntakeMessage) async throws(SinkFailure)
}

/// Why a message was not made durable.
package enum SinkFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// Nothing can be stored now, whichever message it is.
    case unavailable(String)
    /// This message was not taken, though others may be.
    case refused(String)

    package var description: String {
        switch self {
        case .unavailable(let detail): "unavailable: \(detail)"
        case .refused(let detail): "refused: \(detail)"
        }
    }

    var reason: String {
        switch self {
        case .unavailable: "unavailable"
        case .refused: "refused"
        }
    }
}

/// The spool as a place for messages.
package struct SpoolSink: MessageSink {
    private let spool: Spool

    package init(_ spool: Spool) { self.spool = spool }

    package var isHealthy: Bool { spool.hasRoom }

    package func store(_ message: IntakeMessage) async throws(SinkFailure) {
        do { try await spool.append(message.record) } catch {
            if case .tooLarge = error { throw .refused("\(error)") }
            throw .unavailable("\(error)")
        }
    }
}
