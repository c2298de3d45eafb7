internal import Time

/// Counts requests within one window of the clock.
struct RateWindow: Sendable {
    private var start: Int64 = .min
    private var count = 0

    /// Nil lets one more request through; otherwise when to come again.
    mutating func admit(_ limit: Int, in window: Duration = .seconds(1), at now: Timestamp) -> Timestamp? {
        let length = max(1, Int64(window / .milliseconds(1)))
        let start = now.milliseconds - now.milliseconds % length
        if start != self.start {
            self.start = start
            count = 0
        }
        count += 1
        return limit > 0 && count > limit ? Timestamp(milliseconds: start + length) : nil
    }
}

/// Apple's limits, one budget for each group of endpoints.
struct APILimits: Sendable {
    private var windows: [ServerAPIRoute.Limit: RateWindow] = [:]

    /// Nil lets the request through; otherwise when to come again. A window in which not one request would have room
    /// is made so long that one has.
    mutating func admit(
        _ limit: ServerAPIRoute.Limit, _ behaviour: APIBehaviour, isSandbox: Bool, at now: Timestamp
    ) -> Timestamp? {
        guard behaviour.limits else { return nil }
        let perSecond = Double(limit.rawValue) * behaviour.limitPercent / 100 * (isSandbox ? 0.1 : 1)
        guard perSecond > 0 else { return now + .seconds(3600) }
        let seconds = max(Double(behaviour.limitWindowMilliseconds) / 1000, 1 / perSecond)
        let room = Int(min((perSecond * seconds + 1e-9).rounded(.down), 1e9))
        return windows[limit, default: RateWindow()].admit(max(1, room), in: .seconds(seconds), at: now)
    }
}
