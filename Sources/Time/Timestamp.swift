/// An instant in milliseconds since 1970-01-01T00:00:00Z, the unit of every date that Apple signs.
package struct Timestamp: Sendable, Hashable, Comparable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

    /// Saturates at the ends of Int64: Apple's dates are data, and data must not trap.
    package static func + (instant: Timestamp, duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        let limit: Int64 = seconds < 0 ? .min : .max
        guard !overflow else { return Timestamp(milliseconds: limit) }
        let delta = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        let sum = instant.milliseconds.addingReportingOverflow(delta.partialValue)
        return Timestamp(milliseconds: delta.overflow || sum.overflow ? limit : sum.partialValue)
    }

    package static func - (instant: Timestamp, duration: Duration) -> Timestamp { instant + (.zero - duration) }

    /// The time from `earlier` to `later`, saturating.
    package static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        let (difference, overflow) = later.milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return .milliseconds(overflow ? (later > earlier ? Int64.max : .min) : difference)
    }
}
