internal import Runtime
internal import Synchronization

/// What the change feed told that is not in the snapshot yet. From any thread, without waiting: the feed keeps memory
/// true, and must not be held up by a disk.
final class SnapshotQueue: Sendable {
    /// A place in the feed that a follower takes anew, because it had none or lost it.
    struct Place: Sendable {
        let store: String
        let positions: [StreamPosition]
        /// Whether the store is another one than before.
        let wasReplaced: Bool
        /// When the feed was last heard at the place before.
        var heardBefore: ContinuousClock.Instant?
    }

    /// What is to be brought to the disk together.
    struct Round: Sendable {
        var place: Place?
        var paths: [String]
        /// Where the feed is once these are written.
        var positions: [StreamPosition]?
        /// When everything up to there had been heard.
        var heard: ContinuousClock.Instant?
        /// Whether changes were dropped since the last round, so that only a fill can tell what is missing.
        var lostChanges = false
        /// What the store has got back all of.
        var restored: SnapshotMeta.Former?
    }

    private struct State {
        var place: Place?
        var paths: Set<String> = []
        var inHand: Set<String> = []
        var positions: [StreamPosition]?
        var heard: ContinuousClock.Instant?
        /// The newest at this place, written or not.
        var newestHeard: ContinuousClock.Instant?
        var lostChanges = false
        var restored: SnapshotMeta.Former?
    }

    private let bound: Int
    private let state = Mutex(State())
    private let wakeups: AsyncStream<Void>.Continuation
    /// Comes whenever there may be something to do.
    let wakes: AsyncStream<Void>

    init(bound: Int) {
        self.bound = bound
        (wakes, wakeups) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func wake() { wakeups.yield() }
    func finish() { wakeups.finish() }

    /// Customers that wait, those on their way to the disk included.
    var count: Int { state.withLock { $0.paths.count + $0.inHand.count } }

    func holds(_ path: String) -> Bool { state.withLock { $0.paths.contains(path) || $0.inHand.contains(path) } }

    // MARK: The feed's side

    func begin(_ place: Place) {
        state.withLock { state in
            let wasReplaced = place.wasReplaced || state.place?.wasReplaced == true
            // Of one that is passed over nothing has been written.
            let heardBefore = state.place.map(\.heardBefore) ?? state.newestHeard
            state.place = Place(
                store: place.store, positions: place.positions, wasReplaced: wasReplaced, heardBefore: heardBefore)
            state.newestHeard = nil
            state.positions = nil
            state.heard = nil
        }
        wake()
    }

    /// `heard` when there was nothing more to be read.
    func take(_ paths: some Collection<String>, _ positions: [StreamPosition], heard: ContinuousClock.Instant?) {
        let hasNews = state.withLock { state in
            state.positions = positions
            state.heard = heard ?? state.heard
            state.newestHeard = heard ?? state.newestHeard
            if state.paths.count + state.inHand.count + paths.count > bound {
                state.paths.removeAll()
                state.lostChanges = true
                return true
            }
            state.paths.formUnion(paths)
            return !paths.isEmpty || heard != nil
        }
        if hasNews { wake() }
    }

    /// The store has got back what it had lost.
    func restored(_ former: SnapshotMeta.Former) {
        state.withLock { $0.restored = former }
        wake()
    }

    /// Has one holder read again, for other reasons than news.
    func refresh(_ path: String) {
        let isNew = state.withLock { $0.paths.count < bound && $0.paths.insert(path).inserted }
        if isNew { wake() }
    }

    // MARK: The follower's side

    /// All that waits now, which is in hand until `finish` or `putBack`; nil when that is nothing.
    func takeRound() -> Round? {
        state.withLock { state in
            let round = Round(
                place: state.place, paths: Array(state.paths), positions: state.positions, heard: state.heard,
                lostChanges: state.lostChanges, restored: state.restored)
            guard
                round.place != nil || !round.paths.isEmpty || round.heard != nil || round.lostChanges
                    || round.restored != nil
            else { return nil }
            state.inHand = state.paths
            state.paths = []
            (state.place, state.positions, state.heard) = (nil, nil, nil)
            (state.lostChanges, state.restored) = (false, nil)
            return round
        }
    }

    func finish(_ round: Round) { state.withLock { $0.inHand = [] } }

    /// What came since counts for more.
    func putBack(_ round: Round) {
        state.withLock { state in
            state.inHand = []
            if state.place == nil { state.place = round.place }
            state.paths.formUnion(round.paths)
            if state.positions == nil { (state.positions, state.heard) = (round.positions, round.heard) }
            if state.heard == nil { state.heard = round.heard }
            state.lostChanges = state.lostChanges || round.lostChanges
            state.restored = state.restored ?? round.restored
        }
    }
}
