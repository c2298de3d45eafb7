import Entitlements
import Synchronization
import TestSupport
import Testing

@testable import AppStore

/// Apple's limits, kept by one process.
@Suite(.timeLimit(.minutes(6))) struct BudgetTests {
    private static func lane(
        _ group: CallGroup = .frequent, _ environment: StoreEnvironment = .production
    ) -> CallLane { CallLane(bundleID: "com.example.demo", environment: environment, group: group) }

    @Test func theLimitsAreApples() {
        check(CallGroup.allCases.map { $0.callsPerSecond(in: .production) } == [50, 20, 10, 1])
        check(CallGroup.allCases.map { $0.callsPerSecond(in: .sandbox) } == [5, 2, 1, 0.1])
    }

    /// Takes whatever can be had, for a while, by a clock of the test's.
    @Test(arguments: CallGroup.allCases, StoreEnvironment.allCases)
    func noSecondHasMoreCallsThanAppleAllows(_ group: CallGroup, _ environment: StoreEnvironment) {
        let bucket = LocalCallBucket(settings: CallBudgetSettings())
        let lane = Self.lane(group, environment)
        let limit = group.callsPerSecond(in: environment)
        // The length of time in which a whole number of calls, one at least, is allowed.
        let window = max(1, 1 / limit)
        let start = ContinuousClock.now
        var taken: [Double] = []
        var time = 0.0
        while time < 20 * window {
            let wait = bucket.take(lane, .support, at: start + .seconds(time))
            if wait == nil { taken.append(time) } else { time += window / 1000 }
        }
        for (index, first) in taken.enumerated() {
            let within = taken[index...].prefix { $0 < first + window }.count
            #expect(Double(within) <= limit * window + 1e-9)
        }
        // And most of what is allowed can be had.
        #expect(Double(taken.count) >= 20 * window * limit * 0.85)
    }

    @Test func whatIsLeftInTheBucketIsForSupport() {
        let bucket = LocalCallBucket(settings: CallBudgetSettings())
        let now = ContinuousClock.now
        func takeAll(_ priority: CallPriority) -> Int {
            var count = 0
            while bucket.take(Self.lane(), priority, at: now) == nil { count += 1 }
            return count
        }
        // Five may be made at once.
        #expect(takeAll(.sweep) == 3)
        #expect(takeAll(.expiring) == 1)
        #expect(takeAll(.support) == 1)
    }

    @Test func theLowestPriorityIsServedFromAFullBucketWhateverTheReserve() {
        var settings = CallBudgetSettings()
        settings.sweepReserve = 90
        settings.share = 100
        let bucket = LocalCallBucket(settings: settings)
        for group in CallGroup.allCases {
            #expect(bucket.take(Self.lane(group, .sandbox), .sweep, at: .now) == nil)
        }
    }

    @Test func aPauseStopsTheLaneAndNoOther() async {
        let bucket = LocalCallBucket(settings: CallBudgetSettings())
        let began = ContinuousClock.now
        await bucket.pause(Self.lane(), for: .seconds(30))
        let wait = await bucket.take(Self.lane(), .support)
        let took = .now - began
        check(wait.map { $0 >= .seconds(30) - took && $0 <= .seconds(30) } == true)
        #expect(await bucket.take(Self.lane(.moderate), .support) == nil)
        #expect(await bucket.take(Self.lane(.frequent, .sandbox), .support) == nil)
        #expect(bucket.take(Self.lane(), .support, at: .now + .seconds(31)) == nil)
    }

    // MARK: Waiting one's turn

    private final class Order: Sendable {
        private let served = Mutex<[CallPriority]>([])
        var all: [CallPriority] { served.withLock { $0 } }
        func note(_ priority: CallPriority) { served.withLock { $0.append(priority) } }
    }

    /// Gives leave when the test says so.
    private final class Gate: CallBucket {
        private struct State {
            var leaves = 0
            var wait: Duration = .milliseconds(2)
            var asked: [CallPriority] = []
        }
        private let state = Mutex(State())
        let (asked, asking) = AsyncStream.makeStream(of: CallPriority.self)

        func open(_ count: Int = 1) { state.withLock { $0.leaves += count } }
        func setWait(_ wait: Duration) { state.withLock { $0.wait = wait } }

        func take(_ lane: CallLane, _ priority: CallPriority) async -> Duration? {
            asking.yield(priority)
            return state.withLock { state in
                guard state.leaves > 0 else { return state.wait }
                state.leaves -= 1
                return nil
            }
        }
        func pause(_ lane: CallLane, for delay: Duration) async {}
    }

    private func refusal(_ call: () async throws(CallRefusal) -> Void) async -> CallRefusal? {
        do throws(CallRefusal) {
            try await call()
            return nil
        } catch { return error }
    }

    @Test func whoeverGoesFirstIsServedFirst() async throws {
        let gate = Gate()
        let queue = CallQueue(bucket: gate)
        let lane = Self.lane()
        let order = Order()
        await withTaskGroup { group in
            for (index, priority) in [CallPriority.sweep, .sweep, .expiring, .sweep, .support, .expiring].enumerated() {
                group.addTask {
                    let refusal = await refusal { () async throws(CallRefusal) in
                        try await queue.admit(lane, priority, within: .seconds(60))
                    }
                    #expect(refusal == nil)
                    order.note(priority)
                }
                // The next comes once this one stands in the queue.
                let stands = try? await eventually { await queue.waiting(in: lane) == index + 1 }
                check(stands == true)
            }
            for served in 1...6 {
                gate.open()
                let isServed = try? await eventually { order.all.count == served }
                check(isServed == true)
            }
        }
        check(order.all == [.support, .expiring, .expiring, .sweep, .sweep, .sweep])
    }

    @Test func whoCannotBeServedInTimeIsToldAtOnce() async {
        let gate = Gate()
        gate.setWait(.seconds(3600))
        let queue = CallQueue(bucket: gate)
        let began = ContinuousClock.now
        let found = await refusal { () async throws(CallRefusal) in
            try await queue.admit(Self.lane(), .sweep, within: .seconds(600))
        }
        guard case .noRoom(let delay) = found else { return check(false, "\(found as CallRefusal?)") }
        #expect(delay > .seconds(3590))
        #expect(.now - began < .seconds(60))
    }

    @Test func aCallWithoutPatienceIsMadeWhenThereIsRoom() async {
        let gate = Gate()
        gate.open()
        let queue = CallQueue(bucket: gate)
        let found = await refusal { () async throws(CallRefusal) in
            try await queue.admit(Self.lane(), .support, within: .zero)
        }
        #expect(found == nil)
    }

    @Test func supportWakesALaneThatRestsForTheSweep() async throws {
        let gate = Gate()
        gate.setWait(.seconds(30))
        let queue = CallQueue(bucket: gate)
        let lane = Self.lane()
        let sweep = Task {
            await refusal { () async throws(CallRefusal) in try await queue.admit(lane, .sweep, within: .seconds(300)) }
        }
        for await priority in gate.asked where priority == .sweep { break }
        gate.open()
        let found = await refusal { () async throws(CallRefusal) in
            try await queue.admit(lane, .support, within: .seconds(1))
        }
        #expect(found == nil)
        sweep.cancel()
        #expect(await sweep.value == .cancelled)
    }

    @Test func noMoreWaitThanMay() async throws {
        let gate = Gate()
        gate.setWait(.seconds(30))
        var settings = CallBudgetSettings()
        settings.waiting = 1
        let queue = CallQueue(bucket: gate, settings: settings)
        let lane = Self.lane()
        let first = Task {
            await refusal { () async throws(CallRefusal) in try await queue.admit(lane, .sweep, within: .seconds(300)) }
        }
        for await _ in gate.asked { break }
        let second = await refusal { () async throws(CallRefusal) in
            try await queue.admit(lane, .support, within: .seconds(300))
        }
        #expect(second == .overloaded)
        first.cancel()
        #expect(await first.value == .cancelled)
        let isSo = try await eventually { await queue.waiting(in: lane) == 0 }
        #expect(isSo)
    }

    // MARK: In the client

    @Test func a429StopsTheWholeLaneAndSaysUntilWhen() async throws {
        let queue = CallQueue(bucket: LocalCallBucket(settings: CallBudgetSettings()))
        try await Stage.with(budget: queue) {
            $0.supportPatience = .seconds(1)
        } answering: { exchange in
            exchange.request.contains("transactions/1 ")
                ? answer(429, "", "Retry-After: 300") : answer(200, #"{"signedTransactions":[]}"#)
        } _: { stage in
            for expected in [ServerAPIFailure.Kind.rateLimited, .budget, .budget] {
                let failure = await stage.failure { () async throws(ServerAPIFailure) in
                    try await stage.client.transaction("1", .support)
                }
                #expect(failure?.kind == expected)
                #expect(failure?.retryAfter != nil)
            }
            #expect(stage.requests.count == 1)
            // Another group goes on.
            _ = try await stage.client.order("1", .support)
        }
    }
}
