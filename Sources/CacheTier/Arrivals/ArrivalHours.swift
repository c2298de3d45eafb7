package import Time

/// When Apple's notifications of one app in one environment came: the last one, and for each hour of the last weeks in how
/// many of its minutes at least one did.
///
/// Minutes and not notifications are counted: renewals come in swarms, and ten within a second promise no more for the
/// next hour than one does.
package struct ArrivalHours: Sendable, Hashable {
    /// Since when they are counted.
    package let first: Timestamp
    package let last: Timestamp
    /// By the hours since 1970; an hour in which nothing came has no entry.
    package let minutes: [Int64: Int]

    package init(first: Timestamp, last: Timestamp, minutes: [Int64: Int]) {
        self.first = first
        self.last = last
        self.minutes = minutes
    }

    /// Hours that are kept: five weeks, so that each hour of the week is there four times at least.
    package static let kept: Int64 = 5 * week

    static let week: Int64 = 7 * day
    static let day: Int64 = 24
    static let millisecondsPerHour: Int64 = 3_600_000

    static func hour(of instant: Timestamp) -> Int64 { max(0, instant.milliseconds) / millisecondsPerHour }
}
