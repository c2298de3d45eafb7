internal import Synchronization

/// How far the change feed has been heard, by the monotonic clock. Every read asks, on every loop, so there is no lock.
final class FeedStatus: Sendable {
    struct State: Sendable {
        /// When everything in the change streams had been taken in last; nil before the first time.
        var lastHeard: ContinuousClock.Instant?
        /// When the store was seen to have lost data.
        var storeReplaced: ContinuousClock.Instant?
        /// Whether the feed has a place in the store that is there.
        var isPlaced = false
    }

    /// Instants are kept as nanoseconds since this one, plus one: 0 stands for none.
    private let origin = ContinuousClock.now
    private let lastHeard = Atomic<Int64>(0)
    private let storeReplaced = Atomic<Int64>(0)
    private let isPlaced = Atomic(false)

    var now: State {
        State(
            lastHeard: instant(lastHeard.load(ordering: .acquiring)),
            storeReplaced: instant(storeReplaced.load(ordering: .acquiring)),
            isPlaced: isPlaced.load(ordering: .acquiring))
    }

    func heard() { lastHeard.store(number(.now), ordering: .releasing) }

    func placed() { isPlaced.store(true, ordering: .releasing) }

    func storeWasReplaced() { storeReplaced.store(number(.now), ordering: .releasing) }

    /// The store has got back what it had lost.
    func storeWasRestored() { storeReplaced.store(0, ordering: .releasing) }

    private func number(_ instant: ContinuousClock.Instant) -> Int64 {
        max(0, Int64((instant - origin) / .nanoseconds(1))) &+ 1
    }

    private func instant(_ number: Int64) -> ContinuousClock.Instant? {
        number == 0 ? nil : origin + .nanoseconds(number &- 1)
    }
}
