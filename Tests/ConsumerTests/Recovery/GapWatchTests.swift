import AppStore
import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier
@testable import Consumer

@Suite("Gaps that are ours", .timeLimit(.minutes(6))) struct GapWatchTests {
    private static let noon = Timestamp(milliseconds: 1_764_000_000_000)

    private func watch(
        _ role: RecoveryStore.Role, _ store: RecoveryStore, at now: Timestamp,
        _ standings: BackfillStandings = BackfillStandings(), isThere: Bool = true
    ) -> GapWatch {
        GapWatch(
            role, stores: [store], silence: .seconds(120), standings: standings, clock: WallClock { now },
            log: .discarding
        ) { isThere }
    }

    private func with(_ body: (RedisClient, RecoveryStore) async throws -> Void) async throws {
        let server = try await RedisServer.shared()
        let loop = try EventLoop(name: "gaps")
        var settings = RedisSettings()
        settings.port = server.port
        settings.commandTimeout = .seconds(30)
        let redis = RedisClient(name: "gaps", settings: settings, loop: loop)
        let store = RecoveryStore(redis: redis, app: AppID(RedisServer.uniqueApp("gaps")), environment: .production)
        let result: Result<Void, any Error>
        do { result = .success(try await body(redis, store)) } catch { result = .failure(error) }
        await redis.close()
        loop.stop()
        try result.get()
    }

    @Test func nobodyHavingBeenThereIsAGapFromWhenSomebodyWas() async throws {
        try await with { redis, store in
            await redis.start()
            await watch(.consumer, store, at: Self.noon).beat()
            // Another one, soon after: one of them was always there.
            await watch(.consumer, store, at: Self.noon + .seconds(100)).beat()
            #expect(try await store.standing().gaps == [])
            // A gateway that is there does not make a consumer of it, and one that can do nothing is not there.
            await watch(.gateway, store, at: Self.noon + .seconds(400)).beat()
            await watch(.consumer, store, at: Self.noon + .seconds(600), isThere: false).beat()
            #expect(try await store.standing().gaps == [])
            let standings = BackfillStandings()
            await watch(.consumer, store, at: Self.noon + .seconds(700), standings).beat()
            let gap = BackfillGap(
                .consumersSilent, from: Self.noon + .seconds(100), until: Self.noon + .seconds(700))
            #expect(try await store.standing().gaps == [gap])
            #expect(standings.standing(of: store.app, .production)?.gaps == [gap])
            // A clock behind the others' says nothing.
            await watch(.consumer, store, at: Self.noon + .seconds(650)).beat()
            #expect(try await store.standing().gaps == [gap])
            // A second silence before anybody has read the history.
            await watch(.consumer, store, at: Self.noon + .seconds(1700)).beat()
            let both = BackfillGap(
                .consumersSilent, from: Self.noon + .seconds(100), until: Self.noon + .seconds(1700))
            #expect(try await store.standing().gaps == [both])
            // Whoever has read over the first one leaves the other.
            try await store.clear([gap])
            #expect(try await store.standing().gaps == [both])
            try await store.clear([both])
            #expect(try await store.standing().gaps == [])
        }
    }

    @Test("Invariant 2: what Apple was refused while Redis was away is entered once it is there")
    func whatWasRefusedWithoutRedisIsEnteredLater() async throws {
        try await with { redis, store in
            let watch = watch(.gateway, store, at: Self.noon + .seconds(60))
            watch.refused(store.app, .production, at: Self.noon)
            // Nobody has connected yet.
            await watch.beat()
            watch.refused(store.app, .production, at: Self.noon + .seconds(30))
            watch.refused(store.app, .sandbox, at: Self.noon + .seconds(40))
            await watch.beat()
            await redis.start()
            await watch.beat()
            let expected = [BackfillGap(.refused, from: Self.noon, until: Self.noon + .seconds(30))]
            #expect(try await store.standing().gaps == expected)
            // It was said once.
            try await store.clear(expected)
            await watch.beat()
            #expect(try await store.standing().gaps == [])
        }
    }

    @Test func whatWasRefusedLastIsEnteredBeforeTheProcessEnds() async throws {
        try await with { redis, store in
            await redis.start()
            let watch = watch(.gateway, store, at: Self.noon)
            await watch.start()
            watch.refused(store.app, .production, at: Self.noon)
            await watch.drain()
            let gaps = try await store.standing().gaps
            #expect(gaps == [BackfillGap(.refused, from: Self.noon, until: Self.noon)])
        }
    }

    @Test func aLastTimeThatIsNoTimeIsAGapBesideWhatWasRefused() async throws {
        try await with { redis, store in
            await redis.start()
            let watch = watch(.gateway, store, at: Self.noon)
            watch.refused(store.app, .production, at: Self.noon)
            // Nobody knows how long nobody was there.
            let key = StorageLayout.recovery(store.app, .production)
            _ = try await redis.send(["HSET", .text(key), "heard:gateway", "yesterday"])
            await watch.beat()
            let causes = Set(try await store.standing().gaps.map(\.cause))
            #expect(causes == [.refused, .gatewaysSilent])
        }
    }
}
