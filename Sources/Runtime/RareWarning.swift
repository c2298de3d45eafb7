internal import Synchronization

/// A warning that may be due thousands of times a second: the log has the first, and then at most one in a while, which
/// says how many there were since the last.
package final class RareWarning: Sendable {
    private struct State {
        var last: ContinuousClock.Instant?
        var count = 0
    }

    private let event: StaticString
    private let log: Log
    private let every: Duration
    private let state = Mutex(State())

    package init(_ event: StaticString, log: Log, every: Duration = .seconds(1)) {
        self.event = event
        self.log = log
        self.every = every
    }

    /// `fields` are asked for only if the log gets them.
    package func warn(at now: ContinuousClock.Instant = .now, _ fields: (_ times: Log.Value) -> Log.Fields) {
        let times = state.withLock { state -> Int? in
            state.count += 1
            if let last = state.last, now - last < every { return nil }
            state.last = now
            defer { state.count = 0 }
            return state.count
        }
        if let times { log.warning(event, fields(.init(times))) }
    }
}
