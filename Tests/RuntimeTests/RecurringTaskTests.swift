import Runtime
import Synchronization
import TestSupport
import Testing

@Suite struct RecurringTaskTests {
    @Test func itBeginsAtOnceAndGoesOn() async throws {
        let count = Mutex(0)
        let task = RecurringTask(name: "test", every: .milliseconds(1)) { count.withLock { $0 += 1 } }
        await task.start()
        check(try await eventually { count.withLock { $0 } > 3 })
        await task.drain()
        let after = count.withLock { $0 }
        await Task.yield()
        check(count.withLock { $0 } == after)
    }

    @Test func drainingWaitsForWhatIsUnderWayAndForNothingElse() async throws {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let isDone = Mutex(false)
        let task = RecurringTask(name: "test", every: .seconds(3600)) {
            continuation.yield()
            // Cancelled by the drain.
            try? await Task.sleep(for: .seconds(3600))
            isDone.withLock { $0 = true }
        }
        await task.start()
        for await _ in stream { break }
        await task.drain()
        check(isDone.withLock { $0 })
    }

    @Test func whatWasNeverStartedIsDrained() async {
        await RecurringTask(name: "test", every: .seconds(1)) {}.drain()
    }
}
