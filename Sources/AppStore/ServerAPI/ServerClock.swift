internal import HTTP
internal import Runtime
internal import Synchronization
package import Time

/// The server's clock, by the `Date` of its answers: tokens are dated by it, whatever this machine's clock says.
package final class ServerClock: Sendable {
    private struct State {
        var skew: Duration?
        var isLoud = false
    }

    /// From here on a skew is logged, and a 401 may be its doing. Apple's `iat` is backdated by a minute besides.
    static let large: Duration = .seconds(5)

    private let local: WallClock
    private let state = Mutex(State())
    private let gauge: Gauge
    private let log: Log

    init(_ local: WallClock, gauge: Gauge, log: Log) {
        self.local = local
        self.gauge = gauge
        self.log = log
    }

    /// How far the server's clock is ahead of ours, to a second or so; nil before the first answer.
    package var skew: Duration? { state.withLock { $0.skew } }

    package var now: Timestamp { local.now() + (skew ?? .zero) }

    var localNow: Timestamp { local.now() }

    /// Takes the time from an answer that was asked for at `sent` and came at `received`.
    func observe(_ date: String?, sent: Timestamp, received: Timestamp) {
        guard let date = date.flatMap(HTTPDate.timestamp) else { return }
        // The header leaves out fractions of a second, and was written about half way.
        let skew = (date + .milliseconds(500)) - (sent + (received - sent) / 2)
        let isLarge = skew >= Self.large || skew <= .zero - Self.large
        let isNews = state.withLock { state in
            state.skew = skew
            defer { state.isLoud = isLarge }
            return isLarge && !state.isLoud
        }
        gauge.set(skew / .seconds(1))
        if isNews {
            log.warning(
                "this machine's clock differs from the App Store's; set it by NTP",
                ["ahead_by_seconds": .init("\(-(skew / .seconds(1)))")])
        }
    }
}
