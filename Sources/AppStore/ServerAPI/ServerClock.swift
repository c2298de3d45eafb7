internal import HTTP
internal import Runtime
internal import Synchronization
package import Time

/// The server's clock, by the `Date` of its answers: tokens are dated by it, whatever this machine's clock says.
package final class ServerClock: Sendable {
    private struct State {
        var bounds: ClosedRange<Duration>?
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

    /// How far the server's clock is ahead of ours: the middle of what the last answer allows; nil before the first.
    package var skew: Duration? { bounds.map { ($0.lowerBound + $0.upperBound) / 2 } }

    /// Between which the skew must lie: the header leaves out fractions of a second, and says nothing about when between
    /// question and answer it was written.
    package var bounds: ClosedRange<Duration>? { state.withLock { $0.bounds } }

    package var now: Timestamp { local.now() + (skew ?? .zero) }

    var localNow: Timestamp { local.now() }

    /// Takes the time from an answer that was asked for at `sent` and came at `received`.
    func observe(_ date: String?, sent: Timestamp, received: Timestamp) {
        guard let date = date.flatMap(HTTPDate.timestamp) else { return }
        let bounds = (date - max(sent, received))...(date + .seconds(1) - min(sent, received))
        let isLarge = bounds.lowerBound >= Self.large || bounds.upperBound <= .zero - Self.large
        let isNews = state.withLock { state in
            state.bounds = bounds
            defer { state.isLoud = isLarge }
            return isLarge && !state.isLoud
        }
        let skew = (bounds.lowerBound + bounds.upperBound) / 2
        gauge.set(skew / .seconds(1))
        if isNews {
            log.warning(
                "this machine's clock differs from the App Store's; set it by NTP",
                ["ahead_by_seconds": .init("\(-(skew / .seconds(1)))")])
        }
    }
}
