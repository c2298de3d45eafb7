package import Runtime

/// Makes a message durable: with the broker if it can, in the spool otherwise.
package struct IntakeStore: Sendable {
    /// Where a message is durable now.
    package enum Place: String, Sendable { case broker, spool }

    private let broker: any MessageSink
    private let spool: any MessageSink
    private let log: Log

    package init(broker: any MessageSink, spool: any MessageSink, log: Log) {
        self.broker = broker
        self.spool = spool
        self.log = log
    }

    /// Returns once the message is durable; nil when neither would have it, and then nothing may be acknowledged.
    ///
    /// A message that the broker confirms too late is in both: that makes a duplicate, which is harmless.
    package func store(_ message: IntakeMessage) async -> Place? {
        let log = log.with(["correlation": .init(message.headers["correlation"] ?? "")])
        if broker.isHealthy {
            do throws(SinkFailure) {
                try await broker.store(message)
                return .broker
            } catch {
                log.warning("the broker did not take a message", ["error": .init(error)])
            }
        }
        do throws(SinkFailure) {
            try await spool.store(message)
            return .spool
        } catch {
            log.error("a message could not be stored anywhere", ["error": .init(error)])
            return nil
        }
    }
}
