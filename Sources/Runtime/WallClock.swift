internal import CLinux
package import Time

/// What time it is. Passed to whatever asks, so that tests say what time it is; ages use `ContinuousClock` instead,
/// which nobody can set back.
package struct WallClock: Sendable {
    package let now: @Sendable () -> Timestamp

    package init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    package static let system = WallClock { Timestamp(milliseconds: holdfast_wall_clock_milliseconds()) }
}
