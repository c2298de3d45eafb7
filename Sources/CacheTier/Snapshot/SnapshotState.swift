internal import Entitlements
internal import Runtime
internal import Synchronization
internal import Time

/// What a process knows of its snapshot; from any thread.
final class SnapshotState: Sendable {
    struct State: Sendable {
        /// As on the disk; nil while there is no file.
        var meta: SnapshotMeta?
        /// When the feed was heard last of which everything is in the file; nil as long as this process has not followed.
        var heard: ContinuousClock.Instant?
        /// The same for rows that the fill under way has not come to.
        var unsweptHeard: ContinuousClock.Instant?
        /// How often something was written.
        var writes: UInt64 = 0
        /// Whether changes are taken in.
        var isFollowing = false
        /// Whether the file turned out to be damaged; another takes its place when there is a store to fill it from.
        var isDamaged = false
    }

    private let state = Mutex(State())

    var now: State { state.withLock { $0 } }

    func update<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }
}

/// A customer from the snapshot, and how much it is worth.
struct SnapshotFound: Sendable {
    enum Age: Sendable {
        /// It was what the store had at this instant.
        case since(ContinuousClock.Instant)
        /// Nobody knows for how long the feed has not been heard: it was another process that heard it, at this time.
        case unmeasured(Timestamp?)
    }

    let revision: UInt64
    let records: [LineageRecord]
    let storedBytes: Int
    let age: Age
    /// Whether the store is known to have something newer.
    let isOutdated: Bool
    /// Whether some of it may be of a store that has lost its data.
    let isOrphaned: Bool
}
