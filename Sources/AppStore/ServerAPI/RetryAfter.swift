internal import HTTP
package import Time

/// Reads `Retry-After` as Apple means it: UNIX time in **milliseconds**, neither seconds nor a delay.
///
/// Whatever it says, nobody waits for ever, nor hammers:
///
/// | value | read as |
/// |---|---|
/// | a number from 100,000,000,000 (1973) | milliseconds since 1970 |
/// | a number from 1,000,000,000 (2001) below that | seconds since 1970 |
/// | a smaller number | a delay in seconds (RFC 9110) |
/// | an HTTP date | that instant (RFC 9110) |
/// | nothing, or anything else | in 30 seconds |
///
/// The result is brought within 1 second to 1 hour from now: Apple counts by the hour.
package enum RetryAfter {
    package static let shortest: Duration = .seconds(1)
    package static let longest: Duration = .seconds(3600)
    package static let unknown: Duration = .seconds(30)

    /// How long to wait. `serverNow` is the time by the server's clock.
    package static func delay(_ value: String?, serverNow: Timestamp) -> Duration {
        min(max(meant(value, serverNow) ?? unknown, shortest), longest)
    }

    private static func meant(_ value: String?, _ now: Timestamp) -> Duration? {
        guard let value else { return nil }
        guard let number = Int64(value) else { return HTTPDate.timestamp(of: value).map { $0 - now } }
        switch number {
        case 100_000_000_000...: return Timestamp(milliseconds: number) - now
        case 1_000_000_000...: return Timestamp(milliseconds: number * 1000) - now
        case 0...: return .seconds(number)
        default: return nil
        }
    }
}
