import Testing

@testable import CacheTier

@Suite("What waits for the snapshot")
struct SnapshotQueueTests {
    private let positions = [StreamPosition](repeating: .beginning, count: StorageLayout.partitions)

    private func place(_ store: String, wasReplaced: Bool = true) -> SnapshotQueue.Place {
        SnapshotQueue.Place(store: store, positions: positions, wasReplaced: wasReplaced)
    }

    /// Otherwise a snapshot would look as far behind the store that was lost as that store was away.
    @Test func whatIsHeardOfAnotherStoreSaysNothingOfTheOneBefore() {
        let queue = SnapshotQueue(bound: 100)
        queue.begin(place("old", wasReplaced: false))
        let heard = ContinuousClock.now
        queue.take(["customer"], positions, heard: heard)
        _ = queue.takeRound().map(queue.finish)
        queue.begin(place("new"))
        queue.take(["other"], positions, heard: heard + .seconds(3600))
        let round = queue.takeRound()
        #expect(round?.place?.store == "new")
        #expect(round?.place?.heardBefore == heard)
    }

    @Test func aStoreThatIsPassedOverLeavesWhatWasHeardOfTheOneBefore() {
        let queue = SnapshotQueue(bound: 100)
        let heard = ContinuousClock.now
        queue.take([], positions, heard: heard)
        queue.begin(place("passing"))
        queue.take([], positions, heard: heard + .seconds(60))
        queue.begin(place("new"))
        #expect(queue.takeRound()?.place?.heardBefore == heard)
    }

    @Test func whatIsRestoredSaysOfWhatItIs() {
        let queue = SnapshotQueue(bound: 100)
        let former = SnapshotMeta.Former(store: "old", positions: positions, isComplete: true)
        queue.restored(former)
        let round = queue.takeRound()
        #expect(round?.restored == former)
        // After the next loss it is another one that is owed.
        var later = former
        later.losses = 2
        queue.restored(later)
        if let round { queue.putBack(round) }
        #expect(queue.takeRound()?.restored == later)
        #expect(queue.takeRound()?.restored == nil)
    }

    @Test func whereNothingWasHeardBeforeNothingIsSaid() {
        let queue = SnapshotQueue(bound: 100)
        queue.begin(place("first", wasReplaced: false))
        queue.take([], positions, heard: .now)
        #expect(queue.takeRound()?.place?.heardBefore == nil)
    }
}
