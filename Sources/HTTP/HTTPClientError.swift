/// Why a request got no answer. An answer with any status is an answer, not an error.
package struct HTTPClientError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// Name not found, or nobody accepts the connection.
        case unreachable
        /// The connect or the total deadline passed.
        case timedOut
        /// The handshake failed, or the peer's certificate is not trusted.
        case tls
        /// The connection ended before the answer was complete.
        case connectionLost
        /// What came back is not HTTP.
        case malformedResponse
        /// The answer is larger than the settings allow.
        case tooLarge
        /// The request cannot be sent: its URL, its scheme or one of its headers.
        case invalidRequest
        /// As many requests are in flight as the settings allow.
        case overloaded
        /// The calling task was cancelled, or the client closed.
        case cancelled
        /// libcurl itself failed.
        case failed
    }

    package let code: Code
    /// A sentence for people.
    package let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Whether the same request may succeed later without anybody changing it.
    package var isRetryable: Bool {
        switch code {
        case .unreachable, .timedOut, .connectionLost, .overloaded, .failed, .tls, .malformedResponse: true
        case .tooLarge, .invalidRequest, .cancelled: false
        }
    }

    package var description: String { "\(code.rawValue): \(detail)" }
}
