import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import CacheTier

/// Which map counts, in a process that follows.
@Suite(.everyServer) struct ProductMapsTests {
    private static let richer = document(["basic": ["basic", "extra"], "pro": ["basic", "pro"]])

    @Test func untilOneIsPublishedTheSettingsCount() async throws {
        let (app, metrics) = (TestApp(), Metrics())
        try await withProductMaps(try await TestStore.shared(), app, metrics: metrics) { maps in
            #expect(maps.current(of: app.id)?.map == products)
            #expect(maps.version(of: app.id) == 0)
            #expect(maps.current(of: AppID("stranger")) == nil)
            check(metrics.exposition().contains(#"holdfast_product_map_version{app="\#(app.id)"} 0"#))
        }
    }

    @Test func aPublishedMapCountsWithoutARestartAndASmallerNumberToo() async throws {
        let (app, metrics) = (TestApp(), Metrics())
        let server = try await TestStore.shared()
        try await withProductMaps(server, app, metrics: metrics) { maps in
            try await withRedis(server) { redis in
                try await publish(Self.richer, for: app, in: redis)
                check(try await eventually { maps.version(of: app.id) == 1 })
                #expect(maps.current(of: app.id)?.map.products == Self.richer.products)
                #expect(maps.current(of: app.id)?.map.version == "1")
                try await publish(document(["pro": ["pro"]]), for: app, in: redis, over: 1)
                check(try await eventually { maps.version(of: app.id) == 2 })
                check(
                    try await eventually {
                        metrics.exposition().contains(#"holdfast_product_map_version{app="\#(app.id)"} 2"#)
                    })
                // A Redis that was restored from a copy of yesterday is still the one that is asked.
                let key = StorageLayout.productMaps(of: app.id)
                _ = try await redis.send(["HSET", .text(key), "current", .text("1 \(Self.richer.digest)")])
                check(try await eventually { maps.version(of: app.id) == 1 })
            }
        }
    }

    @Test func aProcessThatStartsHasThePublishedMapFromTheBeginning() async throws {
        let app = TestApp()
        let server = try await TestStore.shared()
        try await withRedis(server) { redis in
            try await publish(Self.richer, for: app, in: redis)
            try await withProductMaps(server, app) { maps in #expect(maps.version(of: app.id) == 1) }
        }
    }

    @Test("Invariant 9: answers from memory change with the map, at once") func answersFromMemoryChangeAtOnce()
        async throws
    {
        let app = TestApp()
        let server = try await TestStore.shared()
        try await withRedis(server) { redis in
            _ = try await LineageStore(redis: redis).apply(app.period(from: 0, to: 30))
            try await withProductMaps(server, app) { maps in
                try await withCache(server, app, maps: maps, { $0.liveFor = .seconds(60) }) { cache in
                    check(try await eventually { cache.isLive })
                    let before = try await cache.load(app.key(anna), at: day(1))
                    #expect(before.evaluation.entitlements.map(\.id) == ["basic"])
                    check(try await eventually { cache.answer(for: app.key(anna), at: day(1)) != nil })

                    try await publish(Self.richer, for: app, in: redis)
                    check(try await eventually { maps.version(of: app.id) == 1 })
                    // Not a moment later, and nothing is read again for it.
                    let after = try #require(cache.answer(for: app.key(anna), at: day(1)))
                    #expect(after.source == .memory)
                    #expect(after.evaluation.entitlements.map(\.id) == ["basic", "extra"])
                    #expect(after.revision == before.revision)
                    #expect(after.fragment != before.fragment)

                    let (explanation, _) = try await cache.explain("extra", of: app.key(anna), at: day(1))
                    #expect(explanation.hasAccess)
                    #expect(explanation.mapVersion == "1")
                }
            }
        }
    }

    @Test("Invariant 5: a start without Redis goes by the last map seen") func aStartWithoutRedisGoesByTheLastMapSeen()
        async throws
    {
        let (app, folder) = (TestApp(), try TemporaryFolder("maps"))
        try await RedisServer.withOwn { server in
            try await withProductMaps(server, app, folder: folder.file("maps")) { maps in
                try await withRedis(server) { redis in
                    try await publish(Self.richer, for: app, in: redis)
                    try await publish(document(["basic": ["more"]]), for: app, in: redis, over: 1)
                }
                check(try await eventually { maps.version(of: app.id) == 2 })
            }
            try await server.kill()
            let metrics = Metrics()
            try await withProductMaps(server, app, folder: folder.file("maps"), metrics: metrics) { maps in
                #expect(maps.version(of: app.id) == 2)
                #expect(maps.current(of: app.id)?.map["basic"]?.entitlements == ["more"])
                check(metrics.exposition().contains(#"holdfast_product_map_live{app="\#(app.id)"} 0"#))
                // Once it is back, it is followed again.
                try await server.start()
                try await withRedis(server) { redis in
                    check(try await eventually { redis.isConnected })
                    try await publish(Self.richer, for: app, in: redis, over: 2)
                    check(try await eventually { maps.version(of: app.id) == 3 })
                }
            }
        }
    }

    @Test("Invariant 5: a Redis that lost its data takes no map away") func aRedisThatLostItsDataTakesNoMapAway()
        async throws
    {
        let app = TestApp()
        let lines = Mutex<[String]>([])
        let log = Log(part: "test") { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
        try await RedisServer.withOwn { server in
            try await withProductMaps(server, app, log: log) { maps in
                try await withRedis(server) { redis in
                    try await publish(Self.richer, for: app, in: redis)
                    check(try await eventually { maps.version(of: app.id) == 1 })
                    _ = try await redis.send(["FLUSHALL"])
                    check(
                        try await eventually {
                            lines.withLock { $0.contains { $0.contains("has no product map any more") } }
                        })
                    #expect(maps.version(of: app.id) == 1)
                    // Whatever is published next counts, though its number is the same.
                    try await publish(document(["basic": ["other"]]), for: app, in: redis)
                    check(
                        try await eventually { maps.current(of: app.id)?.map["basic"]?.entitlements == ["other"] })
                }
            }
        }
    }

    @Test func aMapThatCannotBeReadLeavesTheOneBefore() async throws {
        let app = TestApp()
        let server = try await TestStore.shared()
        let lines = Mutex<[String]>([])
        let log = Log(part: "test") { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
        try await withRedis(server) { redis in
            try await publish(Self.richer, for: app, in: redis)
            try await withProductMaps(server, app, log: log) { maps in
                let key = StorageLayout.productMaps(of: app.id)
                _ = try await redis.send(["HSET", .text(key), "current", "2 0000", "m:2", "?", "d:2", "?"])
                check(
                    try await eventually {
                        lines.withLock { $0.contains { $0.contains("may be outdated") } }
                    })
                #expect(maps.version(of: app.id) == 1)
            }
        }
    }

    // MARK: The disk

    private func map(_ version: UInt64) -> PublishedProductMap {
        PublishedProductMap(version: version, document: Self.richer, by: "tests", comment: "line\nbreak", at: day(1))
    }

    @Test func whatIsOnTheDiskIsWhatWasSaved() throws {
        let (app, folder) = (TestApp(), try TemporaryFolder("maps"))
        let disk = ProductMapDisk(folder: folder.file("a/b"))
        guard case .nothing = disk.load(app.id) else {
            Issue.record("there is something")
            return
        }
        for version in [7, 8] as [UInt64] {
            try disk.save(map(version), of: app.id)
            guard case .map(let found) = disk.load(app.id) else {
                Issue.record("there is none")
                return
            }
            #expect(found == map(version))
        }
    }

    @Test func afterAnyDamageTheFileIsSetAside() throws {
        let (app, folder) = (TestApp(), try TemporaryFolder("maps"))
        let disk = ProductMapDisk(folder: folder.path)
        try disk.save(map(7), of: app.id)
        let path = folder.file("\(app.id).map")
        let whole = try File.bytes(at: path)
        var damaged = (0..<whole.count).map { Array(whole[..<$0]) }
        damaged += whole.indices.map { index in
            var bytes = whole
            bytes[index] ^= 0x20
            return bytes
        }
        for bytes in damaged {
            try folder.write(bytes, to: "\(app.id).map")
            guard case .setAside(_, let aside) = disk.load(app.id) else {
                Issue.record("taken: \(String(decoding: bytes, as: UTF8.self))")
                return
            }
            #expect(try File.bytes(at: aside) == bytes)
            guard case .nothing = disk.load(app.id) else {
                Issue.record("it is still there")
                return
            }
        }
    }
}
