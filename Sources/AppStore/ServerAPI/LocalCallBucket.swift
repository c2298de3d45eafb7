internal import Synchronization

/// Counts the calls of this process alone: right where only one process calls, and a stand-in while Redis is away.
package final class LocalCallBucket: CallBucket {
    private struct Lane {
        var tokens: Double
        var at: ContinuousClock.Instant
        var pausedUntil: ContinuousClock.Instant
    }

    private let settings: CallBudgetSettings
    /// Of the rate that the settings give.
    private let part: Double
    private let lanes = Mutex<[CallLane: Lane]>([:])

    package init(settings: CallBudgetSettings, part: Double = 1) {
        self.settings = settings
        self.part = part
    }

    package func take(_ lane: CallLane, _ priority: CallPriority) async -> Duration? {
        take(lane, priority, at: .now)
    }

    func take(_ lane: CallLane, _ priority: CallPriority, at now: ContinuousClock.Instant) -> Duration? {
        let rate = settings.rate(of: lane) * part
        // A part of a bucket may hold less than one call, and then none would ever be made.
        let capacity = max(1, settings.capacity(of: lane) * part)
        let reserve = min(settings.reserve(in: lane, for: priority) * part, capacity - 1)
        return lanes.withLock { lanes in
            var state = lanes[lane] ?? Lane(tokens: capacity, at: now, pausedUntil: now)
            defer { lanes[lane] = state }
            state.tokens = min(capacity, state.tokens + rate * max(0, (now - state.at) / .seconds(1)))
            state.at = max(now, state.at)
            if state.pausedUntil > now { return state.pausedUntil - now }
            let missing = 1 + reserve - state.tokens
            guard missing > 1e-9 else {
                state.tokens -= 1
                return nil
            }
            return .seconds(missing / rate)
        }
    }

    package func pause(_ lane: CallLane, for delay: Duration) async {
        let now = ContinuousClock.now
        lanes.withLock { lanes in
            let fresh = Lane(tokens: 0, at: now, pausedUntil: now)
            lanes[lane, default: fresh].pausedUntil = max(lanes[lane]?.pausedUntil ?? now, now + delay)
        }
    }
}
