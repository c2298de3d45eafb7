package import Entitlements

/// Which of Apple's limits an endpoint counts against: requests per second and app in production; a tenth of it in the
/// sandbox.
package enum CallGroup: String, Sendable, Hashable, CaseIterable {
    case frequent, moderate, scarce, rare

    package func callsPerSecond(in environment: StoreEnvironment) -> Double {
        let production: Double =
            switch self {
            case .frequent: 50
            case .moderate: 20
            case .scarce: 10
            case .rare: 1
            }
        return environment == .production ? production : production / 10
    }
}

/// Who goes first when there is not room for all.
package enum CallPriority: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// Somebody waits for the answer.
    case support = 0
    /// A subscription whose paid period is about to end.
    case expiring = 1
    /// Everything else, at leisure.
    case sweep = 2

    /// What goes first is less.
    package static func < (a: CallPriority, b: CallPriority) -> Bool { a.rawValue < b.rawValue }
    package var name: String { "\(self)" }
}

/// What shares one limit: the group of endpoints, of one app, in one environment.
package struct CallLane: Sendable, Hashable {
    package let bundleID: String
    package let environment: StoreEnvironment
    package let group: CallGroup

    package init(bundleID: String, environment: StoreEnvironment, group: CallGroup) {
        self.bundleID = bundleID
        self.environment = environment
        self.group = group
    }
}

/// Keeps calls within Apple's limits. `CallQueue` is the one that waits its turn; what it counts with is a
/// `CallBucket`, of this process (`LocalCallBucket`) or shared by all through Redis (`SharedCallBucket`, in CacheTier).
package protocol CallBudget: Sendable {
    /// Returns when the call may be made; throws when that will not be within `patience`.
    func admit(_ lane: CallLane, _ priority: CallPriority, within patience: Duration) async throws(CallRefusal)

    /// Apple answered 429: nobody calls in this lane for that long.
    func pause(_ lane: CallLane, for delay: Duration) async
}

package enum CallRefusal: Error, Sendable, Hashable {
    /// There will be no room before this much time has passed.
    case noRoom(for: Duration)
    /// As many wait as may.
    case overloaded
    case cancelled
}

/// Counts the calls of a lane.
package protocol CallBucket: Sendable {
    /// Takes leave for one call; nil if it is given, else for how long there surely is none.
    func take(_ lane: CallLane, _ priority: CallPriority) async -> Duration?

    func pause(_ lane: CallLane, for delay: Duration) async
}

/// No limit at all; for tests and for simulators without one.
package struct UnlimitedCalls: CallBudget {
    package init() {}
    package func admit(_ lane: CallLane, _ priority: CallPriority, within patience: Duration) {}
    package func pause(_ lane: CallLane, for delay: Duration) {}
}
