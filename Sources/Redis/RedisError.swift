/// Why Redis did not do what it was asked.
package struct RedisError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// No connection, or it broke before the reply came: the command may have been carried out or not.
        case unreachable
        /// No reply within the deadline: the command may have been carried out or not.
        case timedOut
        /// Too many commands wait for replies already; this one was not sent.
        case overloaded
        /// Redis refused it; `message` begins with Redis' own code, such as `WRONGTYPE`.
        case refused
        /// Redis replied what no Redis replies to that.
        case unexpectedReply
        /// This client was closed.
        case closed
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String = "") {
        self.code = code
        self.message = message
    }

    /// Whether the same command may succeed later without anybody changing it.
    package var isRetryable: Bool {
        switch code {
        case .unreachable, .timedOut, .overloaded: true
        case .refused: Self.passing.contains(String(message.prefix { $0 != " " }))
        case .unexpectedReply, .closed: false
        }
    }

    /// Redis' codes for states that pass or that an operator mends.
    private static let passing: Set = [
        "LOADING", "BUSY", "MASTERDOWN", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MISCONF", "OOM", "NOREPLICAS",
        "NOAUTH",
    ]

    package var description: String { message.isEmpty ? "redis: \(code)" : "redis: \(code): \(message)" }
}
