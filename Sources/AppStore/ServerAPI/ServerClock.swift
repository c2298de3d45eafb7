internal import HTTP
internal import Runtime
internal import Synchronization
package import Time

/// The server's clock, by the `Date` of its answers: tokens are dated by it, whatever this machine's clock says.
package final class ServerClock: Sendable {
    private struct State {
        var bounds: ClosedRange<Duration>?
        /// The last ones that could be true.
        var believed: ClosedRange<Duration>?
        var isLoud = false
    }

    /// From here on a skew is logged, and a 401 may be its doing. Apple's `iat` is backdated by a minute besides.
    static let large: Duration = .seconds(5)

    /// A clock farther off than this is no clock: what says so is a proxy, or a forger that wants a token for another day.
    static let believable: Duration = .seconds(86_400)

    private let local: WallClock
    private let state = Mutex(State())
    private let gauge: Gauge
    private let log: Log

    init(_ local: WallClock, gauge: Gauge, log: Log) {
        self.local = local
        self.gauge = gauge
        self.log = log
    }

    /// How far the server's clock is ahead of ours: the middle of what the last answer allows that can be believed; nil
    /// before the first.
    package var skew: Duration? { state.withLock { $0.believed }.map(Self.middle) }

    /// Between which the skew must lie: the header leaves out fractions of a second, and says nothing about when between
    /// question and answer it was written. As the last answer has it, believable or not.
    package var bounds: ClosedRange<Duration>? { state.withLock { $0.bounds } }

    /// Whether the last answer's date was not believed.
    var isDoubtful: Bool { bounds.map { !Self.isBelievable($0) } ?? false }

    package var now: Timestamp { local.now() + (skew ?? .zero) }

    var localNow: Timestamp { local.now() }

    /// Takes the time from an answer that was asked for at `sent` and came at `received`.
    func observe(_ date: String?, sent: Timestamp, received: Timestamp) {
        guard let date = date.flatMap(HTTPDate.timestamp) else { return }
        let bounds = (date - max(sent, received))...(date + .seconds(1) - min(sent, received))
        let isLarge = bounds.lowerBound >= Self.large || bounds.upperBound <= .zero - Self.large
        let isNews = state.withLock { state in
            state.bounds = bounds
            if Self.isBelievable(bounds) { state.believed = bounds }
            defer { state.isLoud = isLarge }
            return isLarge && !state.isLoud
        }
        let skew = Self.middle(of: bounds)
        gauge.set(skew / .seconds(1))
        if isNews {
            log.warning(
                "this machine's clock differs from the App Store's; set it by NTP",
                ["ahead_by_seconds": .init("\(-(skew / .seconds(1)))")])
        }
    }

    private static func middle(of bounds: ClosedRange<Duration>) -> Duration {
        (bounds.lowerBound + bounds.upperBound) / 2
    }

    private static func isBelievable(_ bounds: ClosedRange<Duration>) -> Bool {
        bounds.lowerBound <= believable && bounds.upperBound >= .zero - believable
    }
}
