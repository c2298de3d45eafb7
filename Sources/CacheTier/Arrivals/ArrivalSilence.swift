package import Time

/// How long nothing has come of an app in one environment, and how likely that is if all is as it was. Pure.
///
/// What an hour without a notification says depends on what came in the same hour of the weeks before, or, while there are
/// less than two such weeks, of the days before: with *a* minutes of arrivals in *n* such hours, none comes in a part *t* of
/// the next one with a chance of (1 + *t*/*n*)^-*a*. That is the chance by a Poisson process whose rate is known no better
/// than *n* hours tell, so a young app is called silent later than an old one; hours of which less is known say nothing.
package struct ArrivalSilence: Sendable, Hashable {
    /// When the last one came; nil when none ever did.
    package let last: Timestamp?
    /// How likely such a silence, or a longer one, is; 1 while too little is known.
    package let chance: Double

    /// Less likely than this is unusual. Every pause between two notifications is one trial: of an app with a hundred
    /// such pauses a day, one in a hundred days is called unusual for no reason.
    package static let unusualBelow = 1e-4

    package var isUnusual: Bool { chance < Self.unusualBelow }

    /// `hours` is nil when nothing ever came.
    package init(_ hours: ArrivalHours?, at now: Timestamp) {
        last = hours?.last
        chance = hours.map { Self.chance($0, until: now) } ?? 1
    }

    /// From here on a silence is unusual in any case, and longer ones are not worth the arithmetic.
    private static let longest = 2 * ArrivalHours.week
    /// Of an hour that is known from less, nothing is said.
    private static let leastKnown = 2

    private static func chance(_ hours: ArrivalHours, until now: Timestamp) -> Double {
        let begin = ArrivalHours.hour(of: hours.last)
        let end = min(ArrivalHours.hour(of: now), begin + longest)
        guard now > hours.last, begin <= end else { return 1 }
        var chance = 1.0
        for hour in begin...end {
            let from = max(hours.last.milliseconds, hour * ArrivalHours.millisecondsPerHour)
            let until = min(now.milliseconds, (hour + 1) * ArrivalHours.millisecondsPerHour)
            let part = Double(until - from) / Double(ArrivalHours.millisecondsPerHour)
            guard part > 0, let known = known(of: hour, in: hours) else { continue }
            for _ in 0..<known.arrivals { chance /= 1 + part / Double(known.hours) }
            if chance < unusualBelow / 1e6 { break }
        }
        return chance
    }

    /// In how many hours like this one, and in how many minutes of these, something came; nil when too few are known.
    ///
    /// Only whole hours between the first arrival and the last count: the silence itself must not become what is usual.
    private static func known(of hour: Int64, in hours: ArrivalHours) -> (hours: Int, arrivals: Int)? {
        let (first, last) = (ArrivalHours.hour(of: hours.first), ArrivalHours.hour(of: hours.last))
        let oldest = max(first + 1, last - ArrivalHours.kept + 1)
        for (step, count) in [(ArrivalHours.week, 7), (ArrivalHours.day, 14)] {
            let like = (1...Int64(count)).map { hour - step * $0 }.filter { oldest <= $0 && $0 < last }
            guard like.count >= leastKnown else { continue }
            return (like.count, like.reduce(0) { $0 + min(60, max(0, hours.minutes[$1] ?? 0)) })
        }
        return nil
    }
}
