/// How Apple's App Store Server API does for one app in one environment, as those who call it see it.
package enum AppleHealth: String, Sendable, Hashable, CaseIterable {
    /// Nobody has asked yet, or nobody can, because the app has no key.
    case notAsked
    /// The last calls were fine.
    case fine
    /// A call timed out or failed, and there were not yet several good ones in a row since.
    case degraded
    /// Several failed in a row.
    case unreachable
}

/// What made a call of the App Store Server API fail, so far as that is Apple's doing or the way to Apple's.
package enum AppleTrouble: String, Sendable, Hashable, CaseIterable {
    /// An answer came, and too late.
    case slow
    case timedOut
    /// 5xx.
    case server
    /// Name not found, or nobody accepts the connection.
    case unreachable
    /// The connection ended before the answer was complete.
    case connectionLost
    /// The handshake failed, or the certificate is not trusted.
    case tls
    /// An answer that is none of Apple's: not JSON, a redirect, not HTTP.
    case unreadable
}
