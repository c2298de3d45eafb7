/// Why something asked of the broker did not happen: a code to decide by, and a sentence to read.
package struct BrokerError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// There is no connection: never made, lost, or refused by the network. What was in flight may have arrived.
        case unreachable
        /// The broker takes nothing from publishers while an alarm (memory, disk) lasts.
        case blocked
        /// The broker said it did not take the message; a full queue does that.
        case nacked
        /// No queue is bound to where the message was sent.
        case unroutable
        /// No confirm in time. The message may still arrive: whoever publishes it again publishes a duplicate.
        case timedOut
        /// Too many calls are waiting already.
        case overloaded
        /// The user, the password or a permission is not right.
        case refused
        /// A queue or an exchange exists with other arguments than the topology's.
        case topologyMismatch
        /// There is no such queue or exchange.
        case notFound
        /// The broker sent what the protocol does not allow.
        case protocolViolation
        /// This side is draining or was never started.
        case closed
    }

    package let code: Code
    package let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Whether the same call can succeed later without anybody changing the configuration.
    package var isRetryable: Bool {
        switch code {
        case .unreachable, .blocked, .nacked, .timedOut, .overloaded, .protocolViolation: true
        case .unroutable, .refused, .topologyMismatch, .notFound, .closed: false
        }
    }

    package var description: String { "\(code): \(detail)" }
}
