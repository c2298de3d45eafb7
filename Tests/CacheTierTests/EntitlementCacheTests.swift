import AppStore
import CacheTier
import Entitlements
import JSON
import Redis
import Runtime
import TestSupport
import Testing
import Time

@Suite(.timeLimit(.minutes(6)), .everyStore) struct EntitlementCacheTests {
    @Test("Invariant 8: an answer says where it is from and how good it is")
    func theFirstReadIsFromRedisAndTheNextFromMemory() async throws {
        let (app, server) = (TestApp(), try await TestStore.shared())
        try await withRedis(server) { redis in
            let change = try await LineageStore(redis: redis).apply(app.period())
            try await withCache(server, app) { cache in
                check(try await eventually { cache.isLive })
                #expect(cache.answer(for: app.key(anna), at: day(1)) == nil)
                let first = try await cache.load(app.key(anna), at: day(1))
                #expect(first.source == .redis)
                #expect(first.level == .s)
                #expect(first.reason == .current)
                #expect(first.revision == change.revision)
                #expect(first.evaluation.entitlements.map(\.id) == ["basic"])
                let second = try #require(cache.answer(for: app.key(anna), at: day(1)))
                #expect(second.source == .memory)
                #expect(second.level == .s)
                #expect(second.evaluation == first.evaluation)
            }
        }
    }

    @Test func aCustomerNobodyKnowsHasAnEmptyAnswerUntilTheFeedTellsOtherwise() async throws {
        let (app, server) = (TestApp(), try await TestStore.shared())
        try await withCache(server, app) { cache in
            check(try await eventually { cache.isLive })
            let nothing = try await cache.load(app.key(anna), at: day(1))
            #expect(nothing.revision == 0)
            #expect(nothing.evaluation.entitlements.isEmpty)
            #expect(cache.answer(for: app.key(anna), at: day(1))?.revision == 0)
            try await withRedis(server) { redis in
                _ = try await LineageStore(redis: redis).apply(app.period())
            }
            check(try await eventually { cache.answer(for: app.key(anna), at: day(1))?.revision == 1 })
        }
    }

    @Test("Invariant 9: what is in memory ends when it ends") func whatIsInMemoryEndsWhenItEnds() async throws {
        let (app, server, clock) = (TestApp(), try await TestStore.shared(), TestClock())
        try await withRedis(server) { redis in
            let store = LineageStore(redis: redis)
            _ = try await store.apply(app.period(to: 30))
            _ = try await store.apply(app.renewal(signed: 2, on: false))
            try await withCache(server, app, clock: clock) { cache in
                check(try await eventually { cache.isLive })
                let end = day(30)
                for (instant, active) in [
                    (day(3), true), (Timestamp(milliseconds: end.milliseconds - 1), true), (end, false),
                    (day(400), false), (day(3), true),
                ] {
                    clock.now = instant
                    let loaded = try await cache.load(app.key(anna), at: instant)
                    #expect(loaded.evaluation.entitlements.map(\.active) == [active])
                    // Somebody else asks about another time in between.
                    _ = cache.answer(for: app.key(anna), at: day(1000))
                    let again = cache.answer(for: app.key(anna), at: instant)
                    #expect(again?.evaluation.entitlements.map(\.active) == [active])
                    #expect(again?.evaluation == loaded.evaluation)
                }
            }
        }
    }

    @Test("Invariant 7: sandbox purchases are not seen in production")
    func sandboxPurchasesAreNotSeenInProduction() async throws {
        let (app, server) = (TestApp(), try await TestStore.shared())
        try await withRedis(server) { redis in
            _ = try await LineageStore(redis: redis).apply(app.period(of: app.lineage("1", .sandbox)))
            try await withCache(server, app) { cache in
                let production = try await cache.load(app.key(anna), at: day(1))
                #expect(production.evaluation.lineages.isEmpty)
                let sandbox = try await cache.load(app.key(anna, .sandbox), at: day(1))
                #expect(sandbox.evaluation.lineages.count == 1)
            }
        }
    }

    @Test func aChangeMadeByAnotherClientIsSeenThroughTheFeed() async throws {
        let (app, server) = (TestApp(), try await TestStore.shared())
        try await withRedis(server) { redis in
            let store = LineageStore(redis: redis)
            _ = try await store.apply(app.period("1", token: anna))
            try await withCache(server, app) { cache in
                check(try await eventually { cache.isLive })
                for customer in [anna, ben] { _ = try await cache.load(app.key(customer), at: day(1)) }
                // A move takes it from one customer and gives it to another.
                _ = try await store.apply(app.period("2", from: 30, to: 60, product: "pro", token: ben))
                check(
                    try await eventually {
                        cache.answer(for: app.key(ben), at: day(31))?.evaluation.entitlements.count == 2
                            && cache.answer(for: app.key(anna), at: day(31))?.evaluation.entitlements.isEmpty == true
                    })
            }
        }
    }

    @Test func howeverManyAskForACustomerOneReadIsMade() async throws {
        let app = TestApp()
        try await RedisServer.withOwn { server in
            let metrics = Metrics()
            try await withCache(server, app, metrics: metrics) { cache in
                check(try await eventually { cache.isLive })
                try server.pause()
                try await withThrowingTaskGroup(of: UInt64.self) { group in
                    for _ in 0..<100 { group.addTask { try await cache.load(app.key(anna), at: day(1)).revision } }
                    try server.resume()
                    for try await revision in group { #expect(revision == 0) }
                }
                #expect(try await server.cli("INFO", "commandstats").contains("cmdstat_hgetall:calls=1,"))
            }
        }
    }

    @Test("Invariant 5: memory goes on answering while Redis is dead, and says so")
    func memoryGoesOnAnsweringWhileRedisIsDead() async throws {
        let (app, clock) = (TestApp(), TestClock())
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                _ = try await store.apply(app.period("1", token: anna))
                let adjust: (inout CacheSettings) -> Void = {
                    ($0.liveFor, $0.staleBound) = (.milliseconds(400), .seconds(4))
                }
                try await withCache(server, app, clock: clock, adjust) { cache in
                    check(try await eventually { cache.isLive })
                    _ = try await cache.load(app.key(anna), at: day(1))
                    try await server.kill()
                    func level() -> ServiceLevel? { cache.answer(for: app.key(anna), at: day(1))?.level }
                    check(try await eventually { level() == .a })
                    let old = try #require(cache.answer(for: app.key(anna), at: day(1)))
                    #expect(old.evaluation.entitlements.map(\.active) == [true])
                    #expect(old.reason == .storeSilent)
                    #expect(old.asOf < clock.now)
                    #expect(try await cache.load(app.key(anna), at: day(1)).source == .memory)
                    // Nobody is told that a customer has nothing when nobody can know.
                    guard case .storeUnreachable = await readFailure(cache, app.key(ben)) else {
                        Issue.record("an answer was invented")
                        return
                    }
                    check(try await eventually { level() == .b })
                    #expect(cache.answer(for: app.key(anna), at: day(1))?.reason == .storeSilentTooLong)

                    try await server.start()
                    #expect(await redis.waitUntilConnected(within: .seconds(60)))
                    let change = try await store.apply(app.period("2", from: 30, to: 60, token: anna))
                    check(
                        try await eventually {
                            let answer = cache.answer(for: app.key(anna), at: day(1))
                            return answer?.level == .s && answer?.revision == change.revision
                        })
                    #expect(try await cache.load(app.key(ben), at: day(1)).revision == 0)
                }
            }
        }
    }

    @Test("Invariant 5: a Redis that hangs costs a deadline, not the answer")
    func aRedisThatHangsCostsADeadlineNotTheAnswer() async throws {
        let app = TestApp()
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                _ = try await LineageStore(redis: redis).apply(app.period())
            }
            let hurry: (inout RedisSettings) -> Void = {
                ($0.commandTimeout, $0.connectTimeout) = (.seconds(1), .seconds(1))
            }
            try await withCache(server, app, redis: hurry, { $0.liveFor = .milliseconds(300) }) { cache in
                check(try await eventually { cache.isLive })
                _ = try await cache.load(app.key(anna), at: day(1))
                try server.pause()
                guard case .storeUnreachable = await readFailure(cache, app.key(ben)) else {
                    Issue.record("an answer was invented")
                    return
                }
                // Once the hang is noticed, memory answers without waiting for anybody.
                check(try await eventually { cache.answer(for: app.key(anna), at: day(1))?.level == .a })
                let answer = try #require(cache.answer(for: app.key(anna), at: day(1)))
                #expect(answer.evaluation.entitlements.map(\.active) == [true])
                try server.resume()
                check(try await eventually { cache.answer(for: app.key(anna), at: day(1))?.level == .s })
            }
        }
    }

    /// Lets the cache's connections break and not come back while `body` goes on.
    private func withoutTheCache(_ server: RedisServer, _ body: (any RedisLink) async throws -> Void) async throws {
        try await withRedis(server) { redis in
            _ = try await redis.send(["CONFIG", "SET", "requirepass", "closed to the cache"])
            _ = try await redis.send(["CLIENT", "KILL", "SKIPME", "yes"])
            try await body(redis)
            _ = try await redis.send(["CONFIG", "SET", "requirepass", ""])
        }
    }

    @Test func aFeedThatWasAwayTakesUpWhereItWas() async throws {
        let app = TestApp()
        try await RedisServer.withOwn { server in
            let metrics = Metrics()
            try await withCache(server, app, metrics: metrics) { cache in
                check(try await eventually { cache.isLive })
                _ = try await cache.load(app.key(anna), at: day(1))
                try await withoutTheCache(server) { redis in
                    _ = try await LineageStore(redis: redis).apply(app.period())
                    #expect(cache.answer(for: app.key(anna), at: day(1))?.revision == 0)
                }
                check(try await eventually { cache.answer(for: app.key(anna), at: day(1))?.revision == 1 })
                #expect(metrics.exposition().contains("holdfast_feed_resets_total 0"))
            }
        }
    }

    @Test func aFeedThatWasAwayTooLongTrustsNothingItHad() async throws {
        let app = TestApp()
        try await RedisServer.withOwn { server in
            let metrics = Metrics()
            try await withCache(server, app, metrics: metrics) { cache in
                check(try await eventually { cache.isLive })
                try await withRedis(server) { redis in
                    // The stream of this customer must hold something, or nothing can be missing from it.
                    _ = try await LineageStore(redis: redis).apply(app.period("0", token: anna))
                }
                #expect(try await cache.load(app.key(anna), at: day(1)).revision == 1)
                try await withoutTheCache(server) { redis in
                    _ = try await LineageStore(redis: redis).apply(app.period("1", token: anna))
                    _ = try await redis.send([
                        "XTRIM", .text(StorageLayoutForTests.changeStream(app.key(anna))), "MAXLEN", 0,
                    ])
                }
                check(try await eventually { metrics.exposition().contains("holdfast_feed_resets_total 1") })
                #expect(try await cache.load(app.key(anna), at: day(1)).revision == 2)
                check(try await eventually { cache.answer(for: app.key(anna), at: day(1))?.level == .s })
            }
        }
    }

    @Test("Invariant 5: a Redis that lost its data takes nothing from those in memory")
    func aRedisThatLostItsDataTakesNothingFromThoseInMemory() async throws {
        let app = TestApp()
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                let facts = [app.period("1", token: anna), app.period("2", from: 30, to: 60, token: anna)]
                for fact in facts { _ = try await store.apply(fact) }
                try await withCache(server, app) { cache in
                    check(try await eventually { cache.isLive })
                    _ = try await cache.load(app.key(anna), at: day(31))
                    try await server.stop()
                    try await server.loseData()
                    try await server.start()
                    #expect(await redis.waitUntilConnected(within: .seconds(60)))
                    // Once the cache knows that the store is another one, everything it says is with reserve.
                    let knows = try await eventually {
                        do throws(ReadFailure) {
                            return try await cache.load(app.key(ben), at: day(31)).reason == .storeReplaced
                        } catch {
                            // The cache's own connection may not be back yet; any other failure is none that passes.
                            guard case .storeUnreachable = error else { throw error }
                            return false
                        }
                    }
                    #expect(knows)
                    let kept = try await cache.load(app.key(anna), at: day(31))
                    #expect(kept.level == .a)
                    #expect(kept.evaluation.entitlements.map(\.active) == [true])
                    // The store fills up again, the older news first.
                    for fact in facts {
                        let change = try await LineageStore(redis: redis).apply(fact)
                        var losses = 0
                        let isSeen = try await eventually {
                            let answer = try await cache.load(app.key(anna), at: day(31))
                            if answer.evaluation.entitlements.map(\.active) != [true] { losses += 1 }
                            return answer.revision == change.revision
                        }
                        #expect(isSeen)
                        #expect(losses == 0)
                    }
                }
            }
        }
    }

    @Test("Invariant 8: a Redis emptied under an open connection is noticed, and nobody is said to have nothing")
    func aRedisEmptiedUnderAnOpenConnectionIsNoticed() async throws {
        let app = TestApp()
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                _ = try await store.apply(app.period())
                _ = try await store.apply(app.period(of: app.lineage("2000"), token: ben))
                try await withCache(server, app) { cache in
                    check(try await eventually { cache.isLive })
                    _ = try await cache.load(app.key(anna), at: day(1))
                    try await server.cli("FLUSHALL")
                    // At once, for somebody who is not in memory.
                    let unknown = try await cache.load(app.key(ben), at: day(1))
                    #expect(unknown.level == .a)
                    #expect(unknown.reason == .storeReplaced)
                    // And with the next news, or none, for those who are.
                    check(
                        try await eventually {
                            try await cache.load(app.key(anna), at: day(1)).reason == .storeReplaced
                        })
                    let kept = try await cache.load(app.key(anna), at: day(1))
                    #expect(kept.evaluation.entitlements.map(\.active) == [true])
                }
            }
        }
    }

    @Test("Invariant 5: a feed notices by itself that the store was emptied, with nobody asking for anybody")
    func aFeedNoticesByItselfThatTheStoreWasEmptied() async throws {
        let app = TestApp()
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                _ = try await LineageStore(redis: redis).apply(app.period())
                try await withCache(server, app) { cache in
                    check(try await eventually { cache.isLive })
                    _ = try await cache.load(app.key(anna), at: day(1))
                    try await server.cli("FLUSHALL")
                    check(
                        try await eventually {
                            // Memory alone, which asks nobody.
                            guard let answer = cache.answer(for: app.key(anna), at: day(1)) else { return true }
                            return answer.level != .s
                        })
                }
            }
        }
    }

    enum Refusal: CaseIterable { case full, readOnly }

    @Test("Invariant 5: a Redis that takes no writes is read all the same", arguments: Refusal.allCases)
    func aRedisThatTakesNoWritesIsReadAllTheSame(refusal: Refusal) async throws {
        let app = TestApp()
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                _ = try await LineageStore(redis: redis).apply(app.period())
                switch refusal {
                case .full: try await server.cli("CONFIG", "SET", "maxmemory", "1")
                case .readOnly:
                    // Of a master that is not there; it serves what it has.
                    try await server.cli("REPLICAOF", "127.0.0.1", "1")
                }
                try await withCache(server, app) { cache in
                    check(try await eventually { cache.isLive })
                    let answer = try await cache.load(app.key(anna), at: day(1))
                    #expect(answer.level == .s)
                    #expect(answer.evaluation.entitlements.map(\.active) == [true])
                }
            }
        }
    }

    @Test func theWorseOfStoreAndAppleIsTheLevel() async throws {
        let (app, server) = (TestApp(), try await TestStore.shared())
        try await withCache(server, app) { cache in
            check(try await eventually { cache.isLive })
            cache.report(.degraded, for: app.id, .production)
            let degraded = try await cache.load(app.key(anna), at: day(1))
            #expect(degraded.level == .a)
            #expect(degraded.reason == .appleSlow)
            #expect(try await cache.load(app.key(anna, .sandbox), at: day(1)).level == .s)
            cache.report(.unreachable, for: app.id, .production)
            #expect(try await cache.load(app.key(anna), at: day(1)).level == .b)
            cache.report(.fine, for: app.id, .production)
            #expect(try await cache.load(app.key(anna), at: day(1)).level == .s)
        }
    }

    @Test func whatRedisHoldsAndNobodyCanReadIsAFailureNotAnEmptyAnswer() async throws {
        let (app, server) = (TestApp(), try await TestStore.shared())
        try await withRedis(server) { redis in
            _ = try await LineageStore(redis: redis).apply(app.period())
            let key = StorageLayoutForTests.holder(app.key(anna))
            _ = try await redis.send(["HSET", .text(key), "l:1000", "2:{\"v\":99}"])
            try await withCache(server, app) { cache in
                guard case .storeUnreadable = await readFailure(cache, app.key(anna)) else {
                    Issue.record("an answer was invented")
                    return
                }
            }
        }
    }

    @Test("Whatever is written while it is read, memory ends up with what Redis has", arguments: 0..<3)
    func memoryEndsUpWithWhatRedisHas(round: Int) async throws {
        let (app, server) = (TestApp(), try await TestStore.shared())
        let customers = (0..<6).map { "customer-\($0)" }
        try await withRedis(server) { redis in
            // So small that customers come and go.
            try await withCache(server, app, { $0.memoryBytes = 64 * 5000 }) { cache in
                check(try await eventually { cache.isLive })
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<3 {
                        group.addTask {
                            for number in 0..<60 {
                                let lineage = app.lineage("\(Int.random(in: 0..<8))")
                                _ = try await LineageStore(redis: redis).apply(
                                    app.period(
                                        "\(number)-\(writer)", of: lineage, from: number, to: number + 30,
                                        token: customers.randomElement() ?? anna))
                            }
                        }
                    }
                    for _ in 0..<3 {
                        group.addTask {
                            var seen: [String: UInt64] = [:]
                            for _ in 0..<300 {
                                let customer = customers.randomElement() ?? anna
                                let answer = try await cache.load(app.key(customer), at: day(1))
                                #expect(answer.revision >= seen[customer] ?? 0)
                                seen[customer] = answer.revision
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                for customer in customers {
                    let key = StorageLayoutForTests.holder(app.key(customer))
                    let stored = try await redis.send(["HGET", .text(key), "rev"]).string ?? "0"
                    check(
                        try await eventually {
                            "\(try await cache.load(app.key(customer), at: day(1)).revision)" == stored
                        })
                }
            }
        }
    }
}
