import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

/// How far Redis' clock is from ours.
@Suite struct RedisClockTests {
    /// Replies to TIME what it is told to.
    private struct Timely: RedisCommands {
        let reply: RedisReply

        func send(_ arguments: [RedisArgument]) async throws(RedisError) -> RedisReply { reply }
        func evaluate(
            _ script: RedisScript, keys: [String], arguments: [RedisArgument]
        ) async throws(RedisError) -> RedisReply { .null }
    }

    private func compare(
        _ seconds: String, _ microseconds: String, by ours: Int64...
    ) async throws -> RedisClock? {
        let next = Mutex(ours)
        let clock = WallClock { Timestamp(milliseconds: next.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }) }
        let reply = RedisReply.array([.bulk(Array(seconds.utf8)), .bulk(Array(microseconds.utf8))])
        return try await RedisClock.compare(with: Timely(reply: reply), by: clock)
    }

    @Test func whatTheReplyLeavesOpenIsNoSkew() async throws {
        let clock = try await compare("100", "500000", by: 100_000, 101_000)
        #expect(clock?.ahead == .milliseconds(-500) ... .milliseconds(500))
        #expect(clock?.aheadAtLeast == .zero)
    }

    @Test func aSkewIsGivenWithItsSignAndAsTheLeastThatItCanBe() async throws {
        let ahead = try await compare("110", "0", by: 100_000, 101_000)
        #expect(ahead?.aheadAtLeast == .seconds(9))
        let behind = try await compare("90", "0", by: 100_000, 101_000)
        #expect(behind?.aheadAtLeast == .seconds(-10))
    }

    @Test func aClockThatIsSetWhileItIsAskedDoesNoHarm() async throws {
        let clock = try await compare("100", "0", by: 101_000, 99_000)
        #expect(clock?.aheadAtLeast == .zero)
    }

    @Test func whatIsNoTimeIsNotTakenForOne() async throws {
        for (seconds, microseconds) in [("x", "0"), ("0", ""), ("-1", "0"), ("9223372036854775807", "0"), ("1", "-5")] {
            let clock = try await compare(seconds, microseconds, by: 0)
            #expect(clock == nil, "\(seconds) \(microseconds)")
        }
        let clock = try await RedisClock.compare(with: Timely(reply: .null), by: .system)
        #expect(clock == nil)
    }

    @Test func aRealRedisOnThisMachineAgrees() async throws {
        let server = try await RedisServer.shared()
        try await withClient(port: server.port) { client in
            let clock = try await RedisClock.compare(with: client, by: .system)
            #expect(clock?.aheadAtLeast == .zero)
        }
    }
}
