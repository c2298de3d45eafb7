import AppStore
import CacheTier
import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing

/// When something happened, from any task.
private final class Instants: Sendable {
    private let instants = Mutex<[ContinuousClock.Instant]>([])
    var all: [ContinuousClock.Instant] { instants.withLock { $0 } }
    func note() { instants.withLock { $0.append(.now) } }
}

/// Apple's limits, kept by all processes together.
@Suite(.timeLimit(.minutes(6))) struct SharedCallBucketTests {
    /// A lane that no other test uses.
    private static func lane(
        _ group: CallGroup = .frequent, _ environment: StoreEnvironment = .production
    ) -> CallLane {
        CallLane(bundleID: RedisServer.uniqueApp("com.example"), environment: environment, group: group)
    }

    /// Two processes, as far as Redis can tell.
    private func withTwo(
        _ server: RedisServer, _ settings: CallBudgetSettings = CallBudgetSettings(),
        _ body: (SharedCallBucket, SharedCallBucket) async throws -> Void
    ) async throws {
        try await withClients(port: server.port) { first, second in
            try await body(
                SharedCallBucket(redis: first, settings: settings), SharedCallBucket(redis: second, settings: settings))
        }
    }

    private func withClients(port: Int, _ body: (RedisClient, RedisClient) async throws -> Void) async throws {
        var settings = RedisSettings()
        settings.port = port
        settings.commandTimeout = .seconds(30)
        settings.reconnectDelay = .milliseconds(100)
        let loop = try EventLoop(name: "budget-test")
        let clients = (
            RedisClient(name: "one", settings: settings, loop: loop),
            RedisClient(name: "two", settings: settings, loop: loop)
        )
        await clients.0.start()
        await clients.1.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(clients.0, clients.1)) } catch { result = .failure(error) }
        await clients.0.close()
        await clients.1.close()
        loop.stop()
        try result.get()
    }

    @Test func twoProcessesTogetherNeverExceedTheLimit() async throws {
        try await withTwo(RedisServer.shared()) { first, second in
            let lane = Self.lane()
            let made = Instants()
            let begin = ContinuousClock.now
            let end = begin + .seconds(3)
            await withTaskGroup { group in
                for queue in [CallQueue(bucket: first), CallQueue(bucket: second)] {
                    for _ in 0..<20 {
                        group.addTask {
                            while ContinuousClock.now < end {
                                do { try await queue.admit(lane, .support, within: .seconds(10)) } catch { return }
                                made.note()
                            }
                        }
                    }
                }
            }
            let times = made.all.sorted()
            // 45 a second, and 5 at once. When leave was given is Redis' to know, so only the whole can be told from here.
            let took = (times.last ?? begin) - begin
            #expect(Double(times.count) <= 45 * (took / .seconds(1) + 0.1) + 5)
            // More than one process would get alone without Redis.
            #expect(times.count >= 40)
        }
    }

    @Test func theReserveIsKeptForSupportAcrossProcesses() async throws {
        var settings = CallBudgetSettings()
        // A tenth of a call a second: nothing comes back while the test runs.
        settings.share = 1
        settings.sweepReserve = 50
        settings.expiringReserve = 25
        try await withTwo(RedisServer.shared(), settings) { first, second in
            let lane = Self.lane(.moderate)
            func takeAll(_ bucket: SharedCallBucket, _ priority: CallPriority) async -> Int {
                var count = 0
                while await bucket.take(lane, priority) == nil { count += 1 }
                return count
            }
            // 19.8 at once: 9.9 of them are not for the sweep, 4.95 not for expiring ones; and what comes back meanwhile.
            let begin = ContinuousClock.now
            let taken = (
                await takeAll(first, .sweep), await takeAll(second, .expiring), await takeAll(first, .support)
            )
            let back = Int((ContinuousClock.now - begin) / .seconds(5)) + 1
            check((9...9 + back).contains(taken.0), "\(taken)")
            check((5 - back...5 + back).contains(taken.1), "\(taken)")
            check((5 - back...5 + back).contains(taken.2), "\(taken)")
            check(taken.0 + taken.1 + taken.2 <= 19 + back, "\(taken)")
            let wait = await second.take(lane, .sweep)
            check(wait.map { $0 > .seconds(1) } == true)
        }
    }

    @Test func whileSupportWaitsInOneProcessNobodyElseGoesFirstInAnother() async throws {
        try await withTwo(RedisServer.shared()) { first, second in
            // 0.9 a second, one at once.
            let lane = Self.lane(.scarce, .sandbox)
            #expect(await first.take(lane, .support) == nil)
            let wait = try #require(await first.take(lane, .support))
            // The other process comes when the bucket has filled, before the first.
            try await Task.sleep(for: wait + .milliseconds(20))
            #expect(await second.take(lane, .sweep) != nil)
            #expect(await first.take(lane, .support) == nil)
        }
    }

    @Test func a429PausesAllProcesses() async throws {
        try await withTwo(RedisServer.shared()) { first, second in
            let lane = Self.lane()
            let began = ContinuousClock.now
            await first.pause(lane, for: .seconds(20))
            // A shorter pause does not shorten it.
            await second.pause(lane, for: .seconds(1))
            for bucket in [first, second] {
                let wait = await bucket.take(lane, .support)
                // A second more: the clocks are Redis' and ours, and milliseconds are cut off.
                let took = .now - began + .seconds(1)
                check(wait.map { $0 > .seconds(20) - took && $0 <= .seconds(20) } == true)
            }
            #expect(await second.take(Self.lane(), .support) == nil)
        }
    }

    @Test func aPauseEndsAndNotBeforeItsTime() async throws {
        try await withTwo(RedisServer.shared()) { first, second in
            let lane = Self.lane()
            let began = ContinuousClock.now
            await first.pause(lane, for: .milliseconds(500))
            try await CallQueue(bucket: second).admit(lane, .support, within: .seconds(30))
            #expect(.now - began >= .milliseconds(500))
        }
    }

    @Test func withoutRedisEachProcessKeepsToItsPart() async throws {
        let metrics = Metrics()
        try await withClients(port: 1) { redis, _ in
            let bucket = SharedCallBucket(redis: redis, settings: CallBudgetSettings(), metrics: metrics)
            let lane = Self.lane(.rare)
            let began = ContinuousClock.now
            // One at once, however small the part.
            #expect(await bucket.take(lane, .support) == nil)
            let wait = try #require(await bucket.take(lane, .support))
            // A quarter of 0.9 a second.
            #expect(wait > .seconds(4) - (.now - began) && wait < .seconds(5))
            await bucket.pause(lane, for: .seconds(20))
            let paused = await bucket.take(lane, .support)
            check(paused.map { $0 > .seconds(19) - (.now - began) } == true)
            #expect(metrics.exposition().contains("holdfast_app_store_api_budget_fallback_total 3"))
        }
    }

    @Test func itGoesOnWhenRedisGoesAndComes() async throws {
        try await RedisServer.withOwn { server in
            try await withClients(port: server.port) { redis, _ in
                let bucket = SharedCallBucket(redis: redis, settings: CallBudgetSettings())
                let lane = Self.lane()
                #expect(await bucket.take(lane, .support) == nil)
                try await server.kill()
                #expect(await bucket.take(lane, .support) == nil)
                try await server.start()
                #expect(await redis.waitUntilConnected(within: .seconds(60)))
                await bucket.pause(lane, for: .seconds(20))
                #expect(await bucket.take(lane, .support) != nil)
                #expect(try await server.cli("DBSIZE").contains("1"))
            }
        }
    }

    @Test func nothingIsLeftInRedisForALaneAtRest() async throws {
        try await RedisServer.withOwn { server in
            try await withClients(port: server.port) { redis, _ in
                let bucket = SharedCallBucket(redis: redis, settings: CallBudgetSettings())
                #expect(await bucket.take(Self.lane(), .support) == nil)
                let isSo = try await eventually { try await server.cli("DBSIZE") == "0" }
                #expect(isSo)
            }
        }
    }
}
