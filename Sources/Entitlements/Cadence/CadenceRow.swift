/// The table of how often Apple is asked about a lineage: one row for each situation it can be in.
///
/// The time to the next check is `every`, or the period's own length divided by `part` if that is less: so the same table
/// serves a year, a month, and a month that lasts five minutes in Apple's sandbox. Where `growth` is given it grows with
/// the time since the situation began, to at least a `growth`-th of it and `most` at most; and where `fades` is given,
/// nobody asks any more after that time. Up to a fifth less, by lineage, so that what began together is not due together.
package enum CadenceRow: String, Sendable, Hashable, CaseIterable {
    case hold
    case ended
    case unverified
    case lastLook
    case ending
    case grace
    case retry
    case fresh
    case running
    case long
    case canceled
    case oneTime
    case revoked
    case expired

    package struct Terms: Sendable {
        package let urgency: Urgency
        package let every: Duration
        /// Nil where the period says nothing about it.
        package var part: Int?
        package var growth: Int?
        package var most: Duration?
        package var fades: Duration?
        /// When the row counts, for people.
        package let when: String
    }

    package var urgency: Urgency { terms.urgency }

    package var terms: Terms {
        switch self {
        case .hold:
            Terms(
                urgency: .access, every: .seconds(5), part: 20, growth: 1, most: .minutes(30),
                when: "the paid period is over, it should have renewed, and there is no word")
        case .ended:
            Terms(
                urgency: .access, every: .seconds(5), part: 20, growth: 1, most: .days(1), fades: .days(60),
                when: "access has ended, and nothing was heard since")
        case .unverified:
            Terms(
                urgency: .access, every: .minutes(1), part: 20, growth: 1, most: .days(1), fades: .days(60),
                when: "what is known cannot be all there is")
        case .lastLook:
            Terms(
                urgency: .ending, every: .hours(1), part: 10,
                when: "access is about to end: asked once, whether it really does")
        case .ending:
            Terms(
                urgency: .ending, every: .hours(12), part: 16,
                when: "the last 3 days (a fifth of the period, if less) before a renewal")
        case .grace:
            Terms(urgency: .ending, every: .days(1), part: 8, when: "a grace period runs")
        case .retry:
            Terms(
                urgency: .ending, every: .days(1), part: 8, growth: 8,
                when: "Apple tries to charge it, for at most 60 days")
        case .fresh:
            Terms(
                urgency: .routine, every: .days(1), part: 8,
                when: "the first 7 days (a quarter of the period, if less) after a purchase or renewal")
        case .running:
            Terms(urgency: .routine, every: .days(3), part: 4, when: "in the middle of a period")
        case .long:
            Terms(urgency: .routine, every: .days(7), part: 4, when: "in the middle of a period of over 60 days")
        case .canceled:
            Terms(
                urgency: .routine, every: .days(40),
                when:
                    "paid up to an end at which it will not renew: at its end only (lastLook, ended), if it is not far")
        case .oneTime:
            Terms(
                urgency: .routine, every: .hours(1), part: 8, growth: 1, most: .days(30),
                when: "bought once; a consumable for 90 days")
        case .revoked:
            Terms(
                urgency: .routine, every: .days(1), part: 4, growth: 2, fades: .days(120),
                when: "refunded or withdrawn, which Apple may take back")
        case .expired:
            Terms(
                urgency: .routine, every: .days(1), part: 4, growth: 2, fades: .days(60),
                when: "over, and Apple said so; it may be bought again")
        }
    }
}

extension Duration {
    static func minutes(_ count: Int64) -> Duration { .seconds(count * 60) }
    static func hours(_ count: Int64) -> Duration { .seconds(count * 3600) }
    static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
}
