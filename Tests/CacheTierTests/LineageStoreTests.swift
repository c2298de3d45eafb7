import Entitlements
import Redis
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite(.timeLimit(.minutes(6)), .everyStore) struct LineageStoreTests {
    @Test func anObservationIsStoredWithTheCustomerItNames() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            let store = LineageStore(redis: redis)
            let change = try await store.apply(app.period())
            #expect(change.changed)
            #expect(change.holder == .customer(anna))
            #expect(change.previousHolder == nil)
            #expect(change.before == nil)
            #expect(change.after == folded([app.period()], app.lineage()))
            #expect(change.revision == 1)
            let state = try await StoredState.of(app.lineage(), in: redis)
            #expect(state == StoredState(change.after, of: anna))
        }
    }

    @Test func theSameObservationAgainWritesNothing() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            let store = LineageStore(redis: redis)
            let first = try await store.apply(app.period())
            let again = try await store.apply(app.period())
            #expect(!again.changed)
            #expect(again.revision == first.revision)
            #expect(again.before == again.after)
            let changes = try await redis.send([
                "XRANGE", .text(StorageLayout.changeStream(ofPath: app.key(anna).path)), "-", "+",
            ])
            let mine = (changes.array ?? []).filter { $0.array?.last?.array?[1].string == app.key(anna).path }
            #expect(mine.count == 1)
        }
    }

    @Test func anObservationWithoutFactsStoresNothing() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            let store = LineageStore(redis: redis)
            let change = try await store.apply(
                Observation(lineage: app.lineage(), source: .notification, signedDate: day(0)))
            #expect(!change.changed)
            #expect(try await StoredState.of(app.lineage(), in: redis) == StoredState())
        }
    }

    @Test func aLineageIsUnclaimedUntilATransactionNamesACustomer() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            let store = LineageStore(redis: redis)
            #expect(try await store.apply(app.renewal(signed: 0)).holder == .unclaimed("1000"))
            let claimed = try await store.apply(app.period())
            #expect(claimed.holder == .customer(anna))
            #expect(claimed.previousHolder == .unclaimed("1000"))
            let state = try await StoredState.of(app.lineage(), in: redis)
            #expect(state == StoredState(claimed.after, of: anna))
        }
    }

    @Test func aNewerTokenMovesTheLineageAndAnOlderOneDoesNot() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            let store = LineageStore(redis: redis)
            _ = try await store.apply(app.period("2", from: 30, to: 60, token: ben))
            let older = try await store.apply(app.period("1", token: anna))
            #expect(older.holder == .customer(ben))
            let newer = try await store.apply(app.period("3", from: 60, to: 90, token: carl))
            #expect(newer.holder == .customer(carl))
            #expect(newer.previousHolder == .customer(ben))
            #expect(newer.after.transactions.count == 3)
            let state = try await StoredState.of(app.lineage(), in: redis)
            #expect(state == StoredState(newer.after, of: carl))
        }
    }

    @Test(
        "Invariant 3: whoever applies what in whatever order at once, one holder has the fold of all", arguments: 0..<6)
    func concurrentAppliersConverge(round: Int) async throws {
        let app = TestApp()
        let tokens = [anna, ben, carl, nil]
        let observations = (0..<24).flatMap { number in
            [
                app.period(
                    "\(number % 8)", from: number % 8, to: number % 8 + 30, signed: Int.random(in: 0..<40),
                    token: tokens.randomElement() ?? nil, revoked: number % 5 == 0 ? 20 : nil),
                app.renewal(signed: number, on: number % 2 == 0),
            ]
        }
        let expected = folded(observations, app.lineage())
        try await withRedis(try await TestStore.shared()) { redis in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        // Each applies a good part of them, some twice; crashes at random, and applies again then.
                        for observation in (observations + observations).shuffled().prefix(observations.count) {
                            try await apply(observation, redis)
                        }
                    }
                }
                group.addTask { for observation in observations.shuffled() { try await apply(observation, redis) } }
                try await group.waitForAll()
            }
            let state = try await StoredState.of(app.lineage(), in: redis)
            #expect(state == StoredState(expected, of: try #require(expected.customer)))
        }
    }

    /// As a consumer does that is killed now and then: whatever fails is delivered again.
    private func apply(_ observation: Observation, _ redis: any RedisLink) async throws {
        var settings = StoreSettings()
        settings.applyAttempts = 1000
        while true {
            let faulty = FaultyRedis(redis, failing: .random(in: 0..<40), Bool.random() ? .before : .after)
            do throws(StoreError) {
                _ = try await LineageStore(redis: faulty, settings: settings).apply(observation)
                return
            } catch {
                guard faulty.hasFailed else { throw error }
            }
        }
    }

    @Test("Invariant 2: a crash between any two steps is mended by applying again", arguments: [false, true])
    func aCrashAnywhereIsMendedByApplyingAgain(afterTheCommand: Bool) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            var number = 0
            while true {
                let app = TestApp()
                let store = LineageStore(redis: redis)
                _ = try await store.apply(app.period("1", token: anna))
                let faulty = FaultyRedis(redis, failing: number, afterTheCommand ? .after : .before)
                let move = app.period("2", from: 30, to: 60, token: ben)
                do throws(StoreError) {
                    _ = try await LineageStore(redis: faulty).apply(move)
                } catch {
                    #expect(error.isRetryable)
                }
                // Nobody is left without, not even in between.
                let between = try await StoredState.of(app.lineage(), in: redis)
                check(between.holders.contains { between.records[$0] != nil })
                let again = try await store.apply(move)
                let state = try await StoredState.of(app.lineage(), in: redis)
                #expect(state == StoredState(again.after, of: ben))
                #expect(again.after == folded([app.period("1", token: anna), move], app.lineage()))
                guard faulty.hasFailed else { break }
                number += 1
            }
            // The layout, the locator, two copies, the history, and the five steps of a move.
            #expect(number == 10)
        }
    }

    @Test("Invariant 2: a crash while others apply something else leaves nothing behind either", arguments: 0..<10)
    func aCrashThatOthersMeetIsMendedByThem(failing number: Int) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis)
            let observations = [
                app.period("1", token: anna), app.period("2", from: 30, to: 60, token: ben),
                app.period("3", from: 60, to: 90, token: carl),
            ]
            _ = try await store.apply(observations[0])
            let faulty = FaultyRedis(redis, failing: number, .after)
            await #expect(throws: StoreError.self) { _ = try await LineageStore(redis: faulty).apply(observations[1]) }
            let last = try await store.apply(observations[2])
            #expect(last.holder == .customer(carl))
            let state = try await StoredState.of(app.lineage(), in: redis)
            #expect(state == StoredState(last.after, of: carl))
            _ = try await store.apply(observations[1])
            let expected = folded(observations, app.lineage()).encoded()
            #expect(try await StoredState.of(app.lineage(), in: redis).records == [.customer(carl): expected])
        }
    }

    @Test(
        "Invariant 2: nobody who crashes leaves a copy that the locator does not know, whoever acts in between",
        arguments: [false, true])
    func theLocatorKnowsEveryCopy(lineageIsKnown: Bool) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let store = LineageStore(redis: redis)
            // One applies an older token and is met by one with a newer token before each of its commands, and crashes
            // after each of those that follow.
            for meeting in 1..<10 {
                for crash in meeting..<16 {
                    let app = TestApp()
                    if lineageIsKnown { _ = try await store.apply(app.period("1", token: carl)) }
                    let older = app.period("2", from: 30, to: 60, token: anna)
                    let newer = app.period("3", from: 60, to: 90, token: ben)
                    let faulty = FaultyRedis(
                        redis, failing: crash, .after,
                        meanwhile: (
                            meeting,
                            { () async throws(RedisError) in
                                do { _ = try await store.apply(newer) } catch { Issue.record(error) }
                            }
                        ))
                    do throws(StoreError) {
                        _ = try await LineageStore(redis: faulty).apply(older)
                    } catch {
                        #expect(faulty.hasFailed)
                    }
                    let between = try await StoredState.of(app.lineage(), in: redis)
                    let known = between.suspects.union(between.holders)
                    #expect(known.isSuperset(of: between.records.keys), "met at \(meeting), crashed at \(crash)")
                    _ = try await store.apply(older)
                    let last = try await store.apply(newer)
                    let state = try await StoredState.of(app.lineage(), in: redis)
                    #expect(state == StoredState(last.after, of: ben))
                    #expect(last.after.transactions.count == (lineageIsKnown ? 3 : 2))
                }
            }
        }
    }

    @Test func whatIsStoredSurvivesKillOfRedis() async throws {
        try await RedisServer.withOwn { server in
            let app = TestApp()
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                let change = try await store.apply(app.period())
                try await server.kill()
                check(try await eventually { !redis.isConnected })
                do throws(StoreError) {
                    _ = try await store.apply(app.renewal(signed: 1))
                    Issue.record("applied without Redis")
                } catch {
                    #expect(error.isRetryable)
                }
                try await server.start()
                #expect(await redis.waitUntilConnected(within: .seconds(60)))
                let state = try await StoredState.of(app.lineage(), in: redis)
                #expect(state.records == [.customer(anna): change.after.encoded()])
                #expect(try await store.apply(app.renewal(signed: 1)).changed)
            }
        }
    }

    @Test func storedBytesThatNobodyWroteAreReportedNotRepaired() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            let store = LineageStore(redis: redis)
            _ = try await store.apply(app.period())
            let key = StorageLayout.key(app.key(anna).path)
            for junk in ["", "junk", "1:", "1:{}", "x:{\"v\":1}"] {
                _ = try await redis.send(["HSET", .text(key), "l:1000", .text(junk)])
                do throws(StoreError) {
                    _ = try await store.apply(app.renewal(signed: 1))
                    Issue.record("accepted \(junk)")
                } catch {
                    #expect(!error.isRetryable)
                }
            }
            _ = try await redis.send(["HSET", .text(key), "l:1000", "1:{\"v\":99}"])
            do throws(StoreError) {
                _ = try await store.apply(app.renewal(signed: 1))
                Issue.record("read a newer version")
            } catch {
                #expect(error.isRetryable)
            }
        }
    }

    @Test func whatSomebodyElsePutInALineagesPlaceIsUnreadable() async throws {
        let app = TestApp()
        let keys = [
            StorageLayout.locator(of: app.lineage()), StorageLayout.key(app.key(anna).path),
        ]
        let server = try await TestStore.shared()
        try await withRedis(server) { redis in
            for key in keys {
                _ = try await redis.send(["SET", .text(key), "x"])
                do throws(StoreError) {
                    _ = try await LineageStore(redis: redis).apply(app.period())
                    Issue.record("applied over \(key)")
                } catch {
                    guard case .unreadable(key, _, isNewer: false) = error else {
                        Issue.record("\(error)")
                        return
                    }
                }
                _ = try await redis.send(["DEL", .text(key)])
            }
        }
    }

    @Test func aRedisThatIsFullIsNotReadyToBeWrittenTo() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                try await store.prepare()
                try await server.cli("CONFIG", "SET", "maxmemory", "1")
                await #expect(throws: StoreError.self) { try await store.prepare() }
                try await server.cli("CONFIG", "SET", "maxmemory", "0")
                try await store.prepare()
            }
        }
    }

    @Test func aChangeThatCannotBeAnnouncedIsNotWritten() async throws {
        let app = TestApp()
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                try await store.prepare()
                let stream = StorageLayout.changeStream(ofPath: app.key(anna).path)
                _ = try await redis.send(["SET", .text(stream), "x"])
                await #expect(throws: StoreError.self) { _ = try await store.apply(app.period()) }
                #expect(try await StoredState.of(app.lineage(), in: redis).records.isEmpty)
                _ = try await redis.send(["DEL", .text(stream)])
                #expect(try await store.apply(app.period()).changed)
                #expect(try await redis.send(["XLEN", .text(stream)]).integer == 1)
            }
        }
    }
}
