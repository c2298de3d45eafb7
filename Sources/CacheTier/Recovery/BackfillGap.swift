package import Time

/// A time in which something that Apple sent may not have come to us, noted in Redis until the history was read over it.
package struct BackfillGap: Sendable, Hashable {
    package enum Cause: String, Sendable, CaseIterable {
        /// A gateway answered Apple with something else than 2xx.
        case refused
        /// No gateway was there to answer.
        case gatewaysSilent
        /// No consumer was there to work.
        case consumersSilent
    }

    package let cause: Cause
    package let from: Timestamp
    package let until: Timestamp

    package init(_ cause: Cause, from: Timestamp, until: Timestamp) {
        self.cause = cause
        self.from = from
        self.until = max(from, until)
    }

    /// One whose end lies after `now` ends now. How far ahead the clock was that began it nobody knows: at least so far as
    /// its end is.
    func capped(at now: Timestamp) -> BackfillGap {
        guard until > now else { return self }
        return BackfillGap(cause, from: from > now ? now - (until - now) : from, until: now)
    }

    // MARK: In Redis: a field for each cause, which only widens until it is removed

    var field: String { Self.field(cause) }
    var value: String { "\(from.milliseconds) \(until.milliseconds)" }

    static func field(_ cause: Cause) -> String { "gap:\(cause.rawValue)" }

    init?(field: String, value: String) {
        let numbers = value.split(separator: " ").compactMap { Int64($0) }
        guard field.hasPrefix("gap:"), let cause = Cause(rawValue: String(field.dropFirst(4))), numbers.count == 2
        else { return nil }
        self.init(
            cause, from: Timestamp(milliseconds: numbers[0]), until: Timestamp(milliseconds: numbers[1]))
    }
}
