internal import Time

/// Counts requests within one second of the clock.
struct RateWindow: Sendable {
    private var second: Int64 = 0
    private var count = 0

    /// Nil lets one more request through; otherwise when to come again.
    mutating func admit(limit: Int, at now: Timestamp) -> Timestamp? {
        let current = now.milliseconds / 1000
        if current != second {
            second = current
            count = 0
        }
        count += 1
        return limit > 0 && count > limit ? Timestamp(milliseconds: (current + 1) * 1000) : nil
    }
}
