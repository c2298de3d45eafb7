import Entitlements
import Redis
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite(.timeLimit(.minutes(6)), .everyServer) struct UnclaimedTests {
    private func all(
        _ app: TestApp, _ store: LineageStore, _ environment: StoreEnvironment = .production, limit: Int = 1000
    ) async throws -> [String] {
        var ids: [String] = []
        var cursor: String?
        repeat {
            let page = try await store.unclaimed(app.id, environment, after: cursor, limit: limit)
            #expect(page.lineages.count <= limit)
            ids += page.lineages.map(\.lineage.originalTransactionID)
            cursor = page.next
        } while cursor != nil
        return ids
    }

    @Test func aLineageIsListedUntilATokenOrAClaimGivesIt() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules())
            for number in 1...4 {
                _ = try await store.apply(
                    app.period(of: app.lineage("\(number)"), token: nil), cause: .purchase, at: day(number))
            }
            _ = try await store.apply(app.period(of: app.lineage("5"), token: anna))
            #expect(try await all(app, store) == ["1", "2", "3", "4"])
            #expect(try await store.unclaimedCount(app.id, .production) == 4)
            // Seen first is what counts.
            _ = try await store.apply(app.renewal(of: app.lineage("1"), signed: 9))
            _ = try await store.apply(app.period("2", of: app.lineage("2"), from: 30, token: anna))
            _ = try await store.claim(customer: ben, lineage: app.lineage("3"), transactionID: "1", at: day(9))
            #expect(try await all(app, store) == ["1", "4"])
            #expect(try await store.unclaimedCount(app.id, .production) == 2)
            let page = try await store.unclaimed(app.id, .production, limit: 10)
            #expect(page.lineages.map(\.firstSeen) == [day(1), day(4)])
            #expect(page.lineages.first?.record.renewal?.signedDate == day(9))
        }
    }

    @Test("Invariant 7: unclaimed lineages of sandbox and production are listed apart")
    func environmentsAreListedApart() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules())
            _ = try await store.apply(app.period(of: app.lineage("1"), token: nil))
            _ = try await store.apply(app.period(of: app.lineage("2", .sandbox), token: nil))
            #expect(try await all(app, store) == ["1"])
            #expect(try await all(app, store, .sandbox) == ["2"])
            #expect(try await store.unclaimedCount(app.id, .sandbox) == 1)
        }
    }

    @Test(.alsoOnCluster) func pagesLeaveNothingOutAndGiveNothingTwice() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules())
            // More at one instant than fit on a page, in every partition's index and in all together.
            for number in 0..<60 {
                _ = try await store.apply(
                    app.period(of: app.lineage("\(number)"), token: nil), cause: .purchase, at: day(number / 40))
            }
            for limit in [1, 3, 7, 60, 61] {
                let ids = try await all(app, store, limit: limit)
                #expect(ids.count == 60)
                #expect(Set(ids).count == 60)
                let first = Set((0..<40).map { "\($0)" })
                #expect(Set(ids.prefix(40)) == first)
            }
            #expect(try await store.unclaimed(app.id, .production, after: "nonsense", limit: 5).lineages.count == 5)
        }
    }

    @Test("Invariant 2: the index is right after a move that was interrupted anywhere", arguments: [false, true])
    func theIndexIsRightAfterInterruptedMoves(afterTheCommand: Bool) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            var number = 0
            while true {
                let app = TestApp()
                let store = LineageStore(redis: redis, rules: app.rules())
                _ = try await store.apply(app.period(token: nil))
                let faulty = FaultyRedis(redis, failing: number, afterTheCommand ? .after : .before)
                do throws(StoreError) {
                    _ = try await LineageStore(redis: faulty, rules: app.rules()).claim(
                        customer: anna, lineage: app.lineage(), transactionID: "1", at: day(1))
                } catch { #expect(error.isRetryable) }
                // In between it is listed if, and only if, the pseudo-holder has it.
                let state = try await StoredState.of(app.lineage(), in: redis)
                let isThere = state.records[.unclaimed("1000")] != nil
                #expect(try await all(app, store) == (isThere ? ["1000"] : []))
                #expect(try await store.unclaimedCount(app.id, .production) == (isThere ? 1 : 0))
                _ = try await store.claim(customer: anna, lineage: app.lineage(), transactionID: "1", at: day(1))
                #expect(try await store.unclaimedCount(app.id, .production) == 0)
                guard faulty.hasFailed else { break }
                number += 1
            }
        }
    }

    @Test func aStoreOfAnEarlierVersionGetsItsIndexAtTheFirstStart() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let app = TestApp("a:b")
                let store = LineageStore(redis: redis, rules: app.rules())
                for environment in StoreEnvironment.allCases {
                    for number in 0..<30 {
                        _ = try await store.apply(
                            app.period(of: app.lineage("\(number)", environment), from: number, token: nil))
                    }
                }
                _ = try await store.apply(app.period(of: app.lineage("claimed"), token: anna))
                // As an earlier version leaves it.
                for key in try await redis.send(["KEYS", "hf:*:unclaimed"]).array ?? [] {
                    _ = try await redis.send(["DEL", .text(key.string ?? "")])
                }
                #expect(try await store.unclaimedCount(app.id, .production) == 0)
                try await store.prepare()
                let expected = (0..<30).map { "\($0)" }
                #expect(try await all(app, store) == expected)
                #expect(try await all(app, store, .sandbox).count == 30)
                let page = try await store.unclaimed(app.id, .production, limit: 1)
                #expect(page.lineages.first?.firstSeen == day(0))
            }
        }
    }

    @Test func anIndexThatDisagreesWithTheHashesHeals() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules())
            _ = try await store.apply(app.period(of: app.lineage("1"), token: nil))
            _ = try await store.apply(app.period(of: app.lineage("2"), token: nil))
            func index(_ id: String) -> String {
                let path = Holder.unclaimed(id).path(app.id, .production)
                return StorageLayout.unclaimedIndex(
                    app.id, .production, partition: StorageLayout.partition(of: path))
            }
            _ = try await redis.send(["ZREM", .text(index("1")), "1"])
            _ = try await redis.send(["ZADD", .text(index("gone")), "5", "gone"])
            // One that is too much goes when it is listed, one that is missing comes back with the rebuild.
            #expect(try await all(app, store) == ["2"])
            #expect(try await store.unclaimedCount(app.id, .production) == 1)
            try await store.rebuildUnclaimedIndex()
            #expect(try await all(app, store).sorted() == ["1", "2"])
            #expect(try await store.unclaimedCount(app.id, .production) == 2)
        }
    }
}
