internal import Synchronization

/// How far the change feed has been heard, by the monotonic clock.
final class FeedStatus: Sendable {
    struct State: Sendable {
        /// When everything in the change streams had been taken in last; nil before the first time.
        var lastHeard: ContinuousClock.Instant?
        /// When the store was seen to have lost data.
        var storeReplaced: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    var now: State { state.withLock { $0 } }

    func heard() { state.withLock { $0.lastHeard = .now } }

    func storeWasReplaced() { state.withLock { $0.storeReplaced = .now } }
}
