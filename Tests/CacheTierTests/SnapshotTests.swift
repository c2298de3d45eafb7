import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

/// A cache with a snapshot, for as long as `body` takes.
func withSnapshot<Value>(
    _ server: RedisServer, _ app: TestApp, in folder: TemporaryFolder, metrics: Metrics = Metrics(),
    clock: TestClock = TestClock(), redis adjustRedis: (inout RedisSettings) -> Void = { _ in },
    cache adjustCache: (inout CacheSettings) -> Void = { _ in }, seeds: Bool = false,
    patience: Duration = .seconds(3600), maps: [AppID: PublishedProductMap] = [:],
    _ adjust: (inout SnapshotSettings) -> Void = { _ in },
    _ body: (EntitlementCache, Snapshot) async throws -> Value
) async throws -> Value {
    var redis = RedisSettings()
    redis.port = server.port
    redis.reconnectDelay = .milliseconds(100)
    adjustRedis(&redis)
    var settings = SnapshotSettings(folder: folder.file("snapshot"))
    settings.heardEvery = .milliseconds(50)
    settings.pause = .milliseconds(200)
    adjust(&settings)
    let loop = try EventLoop(name: "snapshot-test")
    let connector = redis.connector(loop: loop)
    let snapshot = try Snapshot(
        settings: settings, redis: connector, metrics: metrics, log: .discarding, clock: clock.wall)
    var cacheSettings = CacheSettings()
    cacheSettings.feedWait = .milliseconds(100)
    adjustCache(&cacheSettings)
    let cache = EntitlementCache(
        settings: cacheSettings, redis: connector, rules: [app.id: AppRules(products: products)], snapshot: snapshot,
        metrics: metrics, log: .discarding, clock: clock.wall)
    let link = connector.link("seeding")
    await link.start()
    await cache.start()
    let seeding = SnapshotSeeding(
        snapshot: snapshot, cache: cache, store: LineageStore(redis: link, rules: app.rules()), apps: [app.id],
        maps: { maps }, patience: patience, every: .milliseconds(50), log: .discarding)
    if seeds { await seeding.start() }
    let result: Result<Value, any Error>
    do { result = .success(try await body(cache, snapshot)) } catch { result = .failure(error) }
    await seeding.drain()
    await cache.drain()
    await link.close()
    loop.stop()
    return try result.get()
}

/// What the snapshot on the disk has of a customer, read as another process would.
private func stored(_ key: CustomerKey, in folder: TemporaryFolder) throws -> SnapshotRow? {
    try SnapshotFile(SnapshotFolder(folder.file("snapshot")).file, .readOnly).find(key.path)?.row
}

func meta(in folder: TemporaryFolder) throws -> SnapshotMeta {
    try SnapshotFile(SnapshotFolder(folder.file("snapshot")).file, .readOnly).meta
}

extension RedisServer {
    func replace() async throws {
        try await stop()
        try await loseData()
        try await start()
    }
}

@Suite(.timeLimit(.minutes(6))) struct SnapshotTests {
    private let app = TestApp("snapshot")
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder("snapshot") }

    @Test func whatWasThereBeforeAndWhatChangesIsInTheSnapshot() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                _ = try await store.apply(app.period("1", token: anna))
                _ = try await store.apply(app.period("1", of: app.lineage("2000"), token: nil))
                try await withSnapshot(server, app, in: folder) { cache, _ in
                    check(try await eventually { try meta(in: folder).isComplete })
                    #expect(try stored(app.key(anna), in: folder)?.records() == [folded([app.period()], app.lineage())])
                    #expect(try meta(in: folder).holders == 2)
                    // Nobody has asked for any of them.
                    let change = try await store.apply(app.period("2", from: 30, to: 60, token: anna))
                    _ = try await store.apply(app.period("1", of: app.lineage("3000"), token: ben))
                    check(
                        try await eventually {
                            try stored(app.key(anna), in: folder)?.revision == change.revision
                                && stored(app.key(ben), in: folder) != nil
                        })
                    #expect(try meta(in: folder).holders == 3)
                }
            }
        }
    }

    @Test(
        "Invariant 5: a gateway started without Redis answers from the snapshot, and says that nobody knows how old it is"
    )
    func aGatewayStartedWithoutRedisAnswersFromTheSnapshot() async throws {
        try await RedisServer.withOwn { server in
            let clock = TestClock()
            try await withRedis(server) { redis in
                _ = try await LineageStore(redis: redis).apply(app.period())
                try await withSnapshot(server, app, in: folder, clock: clock) { _, _ in
                    check(
                        try await eventually {
                            let meta = try meta(in: folder)
                            return meta.isComplete && meta.heard != nil
                        })
                }
            }
            try await server.kill()
            clock.now = day(2)
            try await withSnapshot(server, app, in: folder, clock: clock) { cache, _ in
                let answer = try await cache.load(app.key(anna), at: day(2))
                #expect(answer.source == .snapshot)
                #expect(answer.level == .b)
                #expect(answer.reason == .storeSilentTooLong)
                #expect(answer.asOf == day(1))
                #expect(answer.evaluation.entitlements.map(\.active) == [true])
                // The next one need not go to the disk.
                #expect(cache.answer(for: app.key(anna), at: day(2))?.source == .memory)
                #expect(cache.answer(for: app.key(anna), at: day(2))?.level == .b)
                #expect(cache.answer(for: app.key(anna), at: day(2))?.asOf == day(1))
                // Evaluated now (invariant 9).
                let later = try await cache.load(app.key(anna), at: day(90))
                #expect(later.evaluation.entitlements.map(\.active) == [false])
                guard case .storeUnreachable = await readFailure(cache, app.key(ben)) else {
                    Issue.record("an answer was invented")
                    return
                }
                // And once Redis is there again, it is asked.
                try await server.start()
                check(try await eventually { try await cache.load(app.key(anna), at: day(2)).level == .s })
                #expect(try await cache.load(app.key(ben), at: day(2)).revision == 0)
            }
        }
    }

    @Test("Invariant 8: while Redis is away, the snapshot's answers are as old as the silence of the feed")
    func theSnapshotsAnswersAreAsOldAsTheSilence() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                for customer in [anna, ben, carl] {
                    _ = try await LineageStore(redis: redis).apply(
                        app.period(of: app.lineage("of-\(customer)"), token: customer))
                }
                let adjust: (inout CacheSettings) -> Void = {
                    ($0.liveFor, $0.staleBound) = (.milliseconds(400), .seconds(6))
                }
                try await withSnapshot(server, app, in: folder, cache: adjust) { cache, snapshot in
                    check(
                        try await eventually {
                            snapshot.state.now.heard != nil && snapshot.state.now.meta?.isComplete == true
                        })
                    try await server.kill()
                    check(
                        try await eventually {
                            // Each is asked for once, so that it comes from the disk.
                            try await cache.load(app.key(anna), at: day(1)).level == .a
                        })
                    let answer = try await cache.load(app.key(ben), at: day(1))
                    #expect(answer.source == .snapshot)
                    #expect(answer.level >= .a)
                    check(try await eventually { try await cache.load(app.key(carl), at: day(1)).level == .b })
                    #expect(try await cache.load(app.key(carl), at: day(1)).reason == .storeSilentTooLong)
                }
            }
        }
    }

    @Test func aRestartGoesOnWhereItWasAndFillsNothing() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                _ = try await store.apply(app.period("1", token: anna))
                try await withSnapshot(server, app, in: folder) { _, _ in
                    check(try await eventually { try meta(in: folder).isComplete })
                }
                let sweep = try meta(in: folder).sweep
                let change = try await store.apply(app.period("2", from: 30, to: 60, token: anna))
                let metrics = Metrics()
                try await withSnapshot(server, app, in: folder, metrics: metrics) { cache, _ in
                    check(try await eventually { try stored(app.key(anna), in: folder)?.revision == change.revision })
                    check(try await eventually { cache.isLive })
                }
                #expect(try meta(in: folder).sweep == sweep)
                #expect(metrics.exposition().contains("holdfast_snapshot_fills_total 0"))
                #expect(metrics.exposition().contains("holdfast_feed_resets_total 0"))
            }
        }
    }

    @Test func aPlaceThatWasTrimmedIsFilledAnewAndWhatIsGoneFromTheStoreGoes() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                _ = try await store.apply(app.period("1", token: anna))
                _ = try await store.apply(app.period("1", of: app.lineage("2000"), token: ben))
                try await withSnapshot(server, app, in: folder) { _, _ in
                    check(try await eventually { try meta(in: folder).isComplete })
                }
                _ = try await store.apply(app.period("2", from: 30, to: 60, token: anna))
                _ = try await redis.send(["DEL", .text(StorageLayout.key(app.key(ben).path))])
                for stream in StorageLayout.changeStreams {
                    _ = try await redis.send(["XTRIM", .text(stream), "MAXLEN", "0"])
                }
                let metrics = Metrics()
                try await withSnapshot(server, app, in: folder, metrics: metrics) { _, _ in
                    check(
                        try await eventually {
                            let isComplete = try meta(in: folder).isComplete
                            return try isComplete && stored(app.key(ben), in: folder) == nil
                        })
                    #expect(try stored(app.key(anna), in: folder)?.records().first?.transactions.count == 2)
                    #expect(try meta(in: folder).holders == 1)
                }
            }
        }
    }

    // MARK: Trouble with the file

    @Test func aFileThatIsDamagedWhileItIsOpenIsFilledAnew() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                _ = try await store.apply(app.period("1", token: anna))
                let metrics = Metrics()
                try await withSnapshot(server, app, in: folder, metrics: metrics) { cache, snapshot in
                    check(try await eventually { try meta(in: folder).isComplete })
                    // As a read that meets damage says it.
                    snapshot.state.update { $0.isDamaged = true }
                    check(
                        try await eventually {
                            metrics.exposition().contains("holdfast_snapshot_set_aside_total 1")
                        })
                    check(try await eventually { try meta(in: folder).isComplete })
                    #expect(try stored(app.key(anna), in: folder) != nil)
                    let change = try await store.apply(app.period("2", from: 30, to: 60, token: anna))
                    check(try await eventually { try stored(app.key(anna), in: folder)?.revision == change.revision })
                }
            }
        }
    }

    @Test func aFullDiskEndsFollowingAndNotReading() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                _ = try await store.apply(app.period("1", token: anna))
                try await withSnapshot(server, app, in: folder) { _, _ in
                    check(try await eventually { try meta(in: folder).isComplete })
                }
                let metrics = Metrics()
                let change = try await withSnapshot(
                    server, app, in: folder, metrics: metrics, { $0.maximumPages = 12 }
                ) { cache, snapshot in
                    check(try await eventually { snapshot.state.now.isFollowing })
                    var last: AppliedChange?
                    for number in 0..<200 {
                        last = try await store.apply(
                            app.period("1", of: app.lineage("\(9000 + number)"), token: "customer-\(number)"))
                    }
                    check(
                        try await eventually { metrics.exposition().contains("holdfast_snapshot_following 0") })
                    try await server.kill()
                    check(try await eventually { try await cache.load(app.key(anna), at: day(1)).source != .redis })
                    #expect(
                        try await cache.load(app.key(anna), at: day(1)).evaluation.entitlements.map(\.active) == [true])
                    try await server.start()
                    return last
                }
                // There is room again.
                try await withSnapshot(server, app, in: folder) { _, _ in
                    check(
                        try await eventually {
                            try stored(app.key("customer-199"), in: folder)?.revision == change?.revision
                        })
                    check(try await eventually { try meta(in: folder).holders == 201 })
                }
            }
        }
    }

    // MARK: A store that lost its data

    @Test("Invariant 5: a Redis that lost its data while the gateway was away takes nothing from those in the snapshot")
    func aRedisThatLostItsDataTakesNothingFromThoseInTheSnapshot() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                _ = try await store.apply(app.period("1", token: anna))
                try await withSnapshot(server, app, in: folder) { _, _ in
                    check(try await eventually { try meta(in: folder).isComplete })
                }
                try await server.replace()
                #expect(await redis.waitUntilConnected(within: .seconds(60)))
                try await withSnapshot(server, app, in: folder) { cache, snapshot in
                    // From the first read on, whether or not the feed has noticed.
                    let first = try await cache.load(app.key(anna), at: day(1))
                    #expect(first.evaluation.entitlements.map(\.active) == [true])
                    #expect(first.level > .s)
                    check(try await eventually { snapshot.owesStore && cache.isLive })
                    // News of the new store are joined with what was known.
                    _ = try await LineageStore(redis: redis).apply(app.period("2", from: 30, to: 60, token: anna))
                    check(
                        try await eventually {
                            try stored(app.key(anna), in: folder)?.records().first?.transactions.count == 2
                        })
                    let later = try await cache.load(app.key(anna), at: day(2))
                    #expect(later.evaluation.entitlements.map(\.active) == [true])
                    #expect(later.reason == .storeReplaced)
                }
            }
        }
    }

    @Test("A Redis that lost its data gets it back by merging, and then nobody speaks of it any more")
    func aRedisThatLostItsDataGetsItBack() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis, rules: app.rules())
                _ = try await store.apply(app.period("1", token: anna))
                _ = try await store.apply(app.period("1", of: app.lineage("2000"), token: nil))
                // Claimed by ben, and the same is claimed by carl after the loss.
                _ = try await store.apply(app.period("1", of: app.lineage("3000"), token: nil))
                _ = try await store.claim(
                    customer: ben, lineage: app.lineage("3000"), transactionID: "1", at: day(3))
                let document = ProductMapDocument(products: products.products)
                let map = PublishedProductMap(
                    version: 7, document: document, by: "test", comment: "", at: day(0))
                try await withSnapshot(server, app, in: folder, seeds: true, maps: [app.id: map]) { cache, snapshot in
                    check(
                        try await eventually {
                            snapshot.state.now.meta?.isComplete == true && snapshot.state.now.heard != nil
                        })
                    #expect(try meta(in: folder).holders == 4)
                    try await server.stop()
                    try await server.loseData()
                    try await server.start()
                    #expect(await redis.waitUntilConnected(within: .seconds(60)))
                    // Newer news, and a later claim, before or while it is given back.
                    let after = LineageStore(redis: redis, rules: app.rules())
                    _ = try await after.apply(app.period("2", from: 30, to: 60, token: anna))
                    _ = try await after.apply(app.period("1", of: app.lineage("3000"), token: nil))
                    _ = try? await after.claim(
                        customer: carl, lineage: app.lineage("3000"), transactionID: "1", at: day(4))
                    check(
                        try await eventually {
                            let answer = try await cache.load(app.key(anna), at: day(1))
                            // Nobody loses anything on the way.
                            check(answer.evaluation.entitlements.map(\.active) == [true])
                            return answer.reason == .current && !snapshot.owesStore
                        })
                    let found = try await after.find(app.lineage())
                    #expect(found?.record.transactions.map(\.transactionID) == ["1", "2"])
                    #expect(found?.holders == [.customer(anna)])
                    let unclaimed = try await after.unclaimed(app.id, .production, limit: 10)
                    #expect(unclaimed.lineages.map(\.lineage) == [app.lineage("2000")])
                    #expect(unclaimed.lineages.first?.firstSeen == day(0))
                    #expect(try await ProductMapStore(redis: redis).current(of: app.id)?.version == 7)
                    // Who had it before the loss has it, whoever was first after it.
                    let claimed = try await after.find(app.lineage("3000"))
                    #expect(claimed?.record.claims.first?.customer == ben)
                    let state = try await StoredState.of(app.lineage("3000"), in: redis)
                    #expect(state.suspects.isEmpty)
                    #expect(state.holders == [.customer(ben)])
                    #expect(claimed?.holders == [.customer(ben)])
                    check(try await eventually { try meta(in: folder).isComplete && meta(in: folder).former == nil })
                }
            }
        }
    }

    @Test("Invariant 5: a Redis that went back to an older state gets back what it lacks")
    func aRedisThatWentBackGetsBackWhatItLacks() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis, rules: app.rules())
                _ = try await store.apply(app.period("1", token: anna))
                try await withSnapshot(server, app, in: folder) { _, _ in
                    check(try await eventually { try meta(in: folder).isComplete })
                }
                for key in [
                    StorageLayout.key(app.key(anna).path), StorageLayout.locator(of: app.lineage()),
                    StorageLayout.changeStream(ofPath: app.key(anna).path),
                ] {
                    _ = try await redis.send(["DEL", .text(key)])
                }
                try await withSnapshot(server, app, in: folder, seeds: true) { cache, snapshot in
                    check(try await eventually { try await store.find(app.lineage()) != nil })
                    check(try await eventually { !snapshot.owesStore })
                    check(
                        try await eventually {
                            let answer = try await cache.load(app.key(anna), at: day(1))
                            return answer.reason == .current && answer.evaluation.entitlements.map(\.active) == [true]
                        })
                }
            }
        }
    }

    /// What other gateways note in a store, before it has been followed.
    private func note(
        _ former: String, _ positions: [StreamPosition], isComplete: Bool, in redis: any RedisCommands
    ) async throws {
        let note = SeedNote(positions: positions, isComplete: isComplete, finishedAt: day(0))
        _ = try await redis.send([
            "HSET", .text(StorageLayout.seedsKey), .text(SeedNote.doneField(former)), .text(note.text),
        ])
    }

    @Test(
        "Invariant 5: a snapshot gives back what it has, though one that lacked holders has given first",
        arguments: [Duration.seconds(3600), .zero])
    func aSnapshotThatLackedHoldersKeepsNobodyFromGiving(patience: Duration) async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis, rules: app.rules())
                _ = try await store.apply(app.period("1", token: anna))
                try await withSnapshot(server, app, in: folder) { _, _ in
                    check(try await eventually { try meta(in: folder).isComplete })
                }
                let before = try meta(in: folder)
                try await server.replace()
                #expect(await redis.waitUntilConnected(within: .seconds(60)))
                try await note(try #require(before.store), before.positions, isComplete: false, in: redis)
                let after = LineageStore(redis: redis, rules: app.rules())
                try await withSnapshot(server, app, in: folder, seeds: true, patience: patience) { _, snapshot in
                    check(try await eventually { try await after.find(app.lineage()) != nil })
                    check(try await eventually { !snapshot.owesStore })
                }
            }
        }
    }

    @Test(
        "Invariant 5: what came between two losses is given back, though another has given back what was before the first"
    )
    func whatCameBetweenTwoLossesIsGivenBack() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis, rules: app.rules())
                let between = app.lineage("2000")
                _ = try await store.apply(app.period("1", token: anna))
                try await withSnapshot(server, app, in: folder) { _, _ in
                    check(try await eventually { try meta(in: folder).isComplete })
                }
                try await server.replace()
                #expect(await redis.waitUntilConnected(within: .seconds(60)))
                try await withSnapshot(server, app, in: folder) { cache, snapshot in
                    check(try await eventually { snapshot.owesStore && cache.isLive })
                    _ = try await LineageStore(redis: redis, rules: app.rules()).apply(
                        app.period("1", of: between, token: ben))
                    check(try await eventually { try stored(app.key(ben), in: folder)?.records().count == 1 })
                }
                let former = try #require(try meta(in: folder).former)
                #expect(former.losses == 1)
                try await server.replace()
                #expect(await redis.waitUntilConnected(within: .seconds(60)))
                try await note(former.store, former.positions, isComplete: true, in: redis)
                let after = LineageStore(redis: redis, rules: app.rules())
                try await withSnapshot(server, app, in: folder, seeds: true) { _, snapshot in
                    check(try await eventually { try await after.find(between) != nil })
                    check(try await eventually { try await after.find(app.lineage()) != nil })
                    check(try await eventually { !snapshot.owesStore })
                }
            }
        }
    }
}
