package import Runtime

/// How Apple's limits are shared out. A lane is a bucket that fills at `share` of Apple's rate and holds the rest of it,
/// one call at least: so no second has more calls than Apple's limit (at a tenth of a call a second: no ten seconds).
package struct CallBudgetSettings: Sendable, Hashable {
    /// Percent of Apple's rate.
    package var share = 90
    /// Percent of a full bucket that calls for expiring subscriptions must leave for support.
    package var expiringReserve = 20
    /// Percent of a full bucket that the sweep must leave for both.
    package var sweepReserve = 40
    /// Percent of `share` that each process allows itself while Redis, where all of them count, is out of reach.
    package var fallbackShare = 25
    /// Calls of one process that may wait in one lane.
    package var waiting = 10_000

    package init() {}

    package init(_ settings: inout SettingsReader) {
        share = settings.integer(
            "appStoreAPI.budget.share", default: share, in: 1...100,
            "Percent of Apple's rate limits that Holdfast uses; leave some for other programs that call for the same app."
        )
        expiringReserve = settings.integer(
            "appStoreAPI.budget.expiringReserve", default: expiringReserve, in: 0...90,
            "Percent of what may be called at once that calls for expiring subscriptions leave for support.")
        sweepReserve = settings.integer(
            "appStoreAPI.budget.sweepReserve", default: sweepReserve, in: 0...90,
            "Percent of what may be called at once that the sweep leaves for support and expiring subscriptions.")
        fallbackShare = settings.integer(
            "appStoreAPI.budget.fallbackShare", default: fallbackShare, in: 1...100,
            "Percent of that share which each process allows itself while Redis is unreachable: 100 divided by the number of processes."
        )
        waiting = settings.integer(
            "appStoreAPI.budget.waiting", default: waiting, in: 1...1_000_000,
            "Calls of one process that may wait for one rate limit; one more fails at once.")
    }

    /// Calls per second.
    package func rate(of lane: CallLane) -> Double {
        lane.group.callsPerSecond(in: lane.environment) * Double(share) / 100
    }

    /// Calls that may be made at once after a rest.
    package func capacity(of lane: CallLane) -> Double {
        max(1, lane.group.callsPerSecond(in: lane.environment) * Double(100 - share) / 100)
    }

    /// What a call must leave in the bucket. Never so much that it could not be made from a full one.
    package func reserve(in lane: CallLane, for priority: CallPriority) -> Double {
        let percent =
            switch priority {
            case .support: 0
            case .expiring: expiringReserve
            case .sweep: sweepReserve
            }
        let capacity = capacity(of: lane)
        return min(capacity * Double(percent) / 100, capacity - 1)
    }
}
