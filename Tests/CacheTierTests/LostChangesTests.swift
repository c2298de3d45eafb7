import Entitlements
import Redis
import TestSupport
import Testing

@testable import CacheTier

/// A server that took over from another may lack the last changes of it, and have made others since.
@Suite(.timeLimit(.minutes(6))) struct LostChangesTests {
    private func extent(first: String, last: String, length: Int64, added: Int64) -> StreamExtent {
        func text(_ value: String) -> RedisReply { .bulk(Array(value.utf8)) }
        return StreamExtent(
            .array([
                text("length"), .integer(length), text("last-generated-id"), text(last), text("entries-added"),
                .integer(added), text("first-entry"), .array([text(first), .array([])]),
            ]))
    }

    @Test func aPositionWhoseEntryIsMissingAmongOthersIsOfAnotherPast() throws {
        let position = try #require(StreamPosition("5-1"))
        let longer = extent(first: "1-0", last: "9-0", length: 3, added: 3)
        #expect(longer.continuity(from: position, isThere: true) == .unbroken)
        #expect(longer.continuity(from: position, isThere: false) == .wentBack)
        // What was trimmed was not lost.
        let trimmed = extent(first: "7-0", last: "9-0", length: 2, added: 9)
        #expect(trimmed.continuity(from: position, isThere: false) == .trimmed)
        // Nothing was read yet.
        #expect(longer.continuity(from: .beginning, isThere: false) == .unbroken)
    }

    @Test(arguments: [("5-1", "5-0"), ("5-0", "4-18446744073709551615"), ("0-0", "0-0")])
    func theLastPositionBeforeIsKnown(_ text: String, _ before: String) throws {
        let position = try #require(StreamPosition(text))
        #expect(position.predecessor.description == before)
    }

    @Test("Invariant 5: who has access by a change that the new server lacks keeps it, and the answer says why")
    func aChangeThatWasReadAndIsNoLongerThereIsNoticed() async throws {
        let app = TestApp()
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                _ = try await store.apply(app.period("1", from: 0, to: 10))
                try await withCache(server, app) { cache in
                    check(try await eventually { cache.isLive })
                    _ = try await cache.load(app.key(anna), at: day(1))
                    let change = try await store.apply(app.period("2", from: 10, to: 40))
                    check(
                        try await eventually {
                            cache.answer(for: app.key(anna), at: day(20))?.revision == change.revision
                        })
                    // The change is gone, as after a failover, and connections are new.
                    let key = app.key(anna)
                    let stream = StorageLayout.changeStream(ofPath: key.path)
                    let last = try await redis.send(["XREVRANGE", .text(stream), "+", "-", "COUNT", "1"])
                    let id = try #require(last.array?.first?.array?.first?.string)
                    _ = try await redis.send(["XDEL", .text(stream), .text(id)])
                    let holder = StorageLayout.key(key.path)
                    _ = try await redis.send(["HDEL", .text(holder), "l:1000"])
                    _ = try await redis.send(["HSET", .text(holder), "rev", "1"])
                    try await server.cli("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
                    check(
                        try await eventually {
                            let answer = try await cache.load(key, at: day(20))
                            return answer.reason == .storeReplaced && answer.evaluation.entitlements.count == 1
                        })
                }
            }
        }
    }
}
