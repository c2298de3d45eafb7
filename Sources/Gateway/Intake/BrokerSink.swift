package import Broker
internal import Time

/// The broker as a place for messages.
package struct BrokerSink: MessageSink {
    private let publisher: BrokerPublisher
    private let names: BrokerNames

    package init(_ publisher: BrokerPublisher, names: BrokerNames) {
        self.publisher = publisher
        self.names = names
    }

    package var isHealthy: Bool { publisher.isHealthy }

    package func store(_ message: IntakeMessage) async throws(SinkFailure) {
        let published = Self.message(message)
        do throws(BrokerError) {
            switch message.destination {
            case .intake: try await publisher.publish(published, to: names.intake)
            case .quarantine: try await publisher.publish(published, to: "", routingKey: names.quarantine)
            }
        } catch {
            switch error.code {
            case .nacked, .unroutable, .notFound: throw .refused("\(error)")
            case .unreachable, .blocked, .timedOut, .overloaded, .refused, .topologyMismatch, .protocolViolation,
                .closed:
                throw .unavailable("\(error)")
            }
        }
    }

    /// As it is published.
    package static func message(_ message: IntakeMessage) -> BrokerMessage {
        BrokerMessage(
            body: message.body, headers: message.headers, messageID: message.messageID,
            contentType: "application/json",
            timestamp: message.headers["received-at"].flatMap { Timestamp(rfc3339: $0) })
    }
}
