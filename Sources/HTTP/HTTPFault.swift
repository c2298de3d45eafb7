package import Time

/// How an answer goes wrong on its way to the client, for servers that play a bad one.
package enum HTTPFault: Sendable, Hashable {
    /// The `Date` field says this time.
    case dated(Timestamp)
    /// `Content-Length` promises the whole body, and the connection is closed after so many bytes of it.
    case truncated(bodyBytes: Int)
    /// The connection is closed in place of an answer.
    case dropped
}
