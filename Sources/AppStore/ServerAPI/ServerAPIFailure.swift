package import Time

/// Why a call of the App Store Server API brought no answer. `isRetryable` separates what may pass from what stays.
package struct ServerAPIFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: String, Sendable, CaseIterable {
        /// Not sent: a parameter that Apple would refuse.
        case invalidRequest
        /// Not sent: the key cannot sign.
        case key
        /// Not sent: the call budget had no room in time. `retryAfter` says when it may have.
        case budget
        /// Not sent, or given up: the calling task was cancelled.
        case cancelled
        /// Name not found, or nobody accepts the connection.
        case unreachable
        /// No answer within the timeout.
        case timedOut
        /// The handshake failed, or the peer's certificate is not trusted.
        case tls
        /// The connection ended before the answer was complete.
        case connectionLost
        /// 401.
        case unauthorized
        /// 429. `retryAfter` says when to come again.
        case rateLimited
        /// Another 4xx.
        case refused
        /// 5xx.
        case server
        /// An answer that cannot be used: not JSON, not what was asked for, too large, a redirect.
        case unreadable
    }

    package let kind: Kind
    package let endpoint: ServerAPIEndpoint?
    package let status: Int?
    /// Apple's number, when the answer had one.
    package let code: Int64?
    /// Apple's sentence, or ours.
    package let message: String
    package let isRetryable: Bool
    /// By this machine's clock.
    package let retryAfter: Timestamp?
    /// What to do about it.
    private let remedy: String?

    /// Apple's name of the code.
    package var name: String? { code.flatMap(ServerAPIErrorCode.name) }
    package var isTransactionNotFound: Bool { code == ServerAPIErrorCode.transactionIDNotFound }

    package init(
        _ kind: Kind, _ endpoint: ServerAPIEndpoint?, _ message: String, status: Int? = nil, code: Int64? = nil,
        isRetryable: Bool? = nil, retryAfter: Timestamp? = nil, remedy: String? = nil
    ) {
        self.kind = kind
        self.endpoint = endpoint
        self.status = status
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.remedy = remedy ?? code.flatMap(ServerAPIErrorCode.remedy)
        self.isRetryable = isRetryable ?? Self.passes(kind)
    }

    private static func passes(_ kind: Kind) -> Bool {
        switch kind {
        case .budget, .unreachable, .timedOut, .tls, .connectionLost, .rateLimited, .server, .unreadable: true
        case .invalidRequest, .key, .cancelled, .unauthorized, .refused: false
        }
    }

    package var description: String {
        var text = endpoint.map { "\($0.name): " } ?? ""
        let facts = [status.map { "\($0)" }, code.map { "\($0)" }, name].compactMap { $0 }
        if !facts.isEmpty { text += facts.joined(separator: " ") + ": " }
        text += message
        if let remedy { text += " (\(remedy))" }
        if let retryAfter { text += "; again from \(retryAfter.rfc3339)" }
        return text
    }
}
