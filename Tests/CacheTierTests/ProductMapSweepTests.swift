import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import CacheTier

/// Another product map has Apple asked about those whom it concerns; and the settings' map is one, too.
@Suite(.everyServer, .timeLimit(.minutes(6))) struct ProductMapSweepTests {
    private let before = document(["basic": ["basic"], "pro": ["pro"]])
    private let after = document(["basic": ["basic", "extra"], "pro": ["pro"], "late": ["late"]])
    /// An hour after everything was bought, when nothing is due yet.
    private let now = day(0) + .seconds(3600)

    private func customer(_ number: Int) -> String { "00000000-0000-4000-8000-00000000000\(number)" }

    private func populate(_ redis: any RedisLink, _ app: TestApp) async throws {
        let store = LineageStore(redis: redis)
        let sold: [(product: String, environment: StoreEnvironment, isClaimed: Bool)] = [
            ("basic", .production, true), ("pro", .production, true), ("late", .production, true),
            ("basic", .production, false), ("basic", .sandbox, true),
        ]
        for (index, one) in sold.enumerated() {
            let number = index + 1
            _ = try await store.apply(
                app.period(
                    of: app.lineage("\(number)", one.environment), product: one.product,
                    token: one.isClaimed ? customer(number) : nil))
        }
        try await UnmappedProducts(redis: redis).note("late", of: app.id, in: .production, at: day(0))
    }

    private func due(
        _ redis: any RedisLink, _ app: TestApp, _ environment: StoreEnvironment = .production
    ) async throws -> Set<String> {
        let work = DueWork(redis: redis, app: app.id, environment: environment, clock: WallClock { now })
        let claimed = try await work.claim(limit: 10, lease: .seconds(60))
        return Set(claimed.map(\.lineage.originalTransactionID))
    }

    private func recomputer(
        _ redis: any RedisLink, _ announce: @escaping ProductMapRecomputer.Announce = { _ in }
    ) -> ProductMapRecomputer {
        var settings = ProductMapSettings()
        settings.followEvery = .milliseconds(1)
        return ProductMapRecomputer(
            redis: redis, settings: settings, clock: WallClock { now }, keysAtOnce: 5, announce: announce)
    }

    private func run(_ recomputer: ProductMapRecomputer, _ app: TestApp) async throws -> [Recomputation] {
        guard case .done(let done) = try await recomputer.run(app.id, policy: .standard) else { throw Busy() }
        return done
    }

    private struct Busy: Error {}

    @Test(.alsoOnCluster) func whoHasToDoWithWhatChangedIsDueAtOnce() async throws {
        let app = TestApp("sweep")
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            #expect(try await due(redis, app).isEmpty)
            _ = try await ProductMapStore(redis: redis).publish(
                after, for: app.id, expecting: 0, first: before, by: "tests", comment: "", at: now)
            let done = try await run(recomputer(redis), app)
            #expect(done.count == 1)
            #expect(done.first?[.production].swept == 3)
            #expect(done.first?[.sandbox].swept == 1)
            // One whose product gives more, one whose product is known now, and one that nobody has.
            #expect(try await due(redis, app) == ["1", "3", "4"])
            #expect(try await due(redis, app, .sandbox) == ["5"])
        }
    }

    @Test func anotherMapInTheSettingsIsToldOfAndSweptFor() async throws {
        let app = TestApp("settings-map")
        let told = Mutex<[String]>([])
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            let recomputer = recomputer(redis) { change in told.withLock { $0.append(change.customer) } }
            // The first that is known of, and the same again.
            for _ in 0..<2 {
                try await recomputer.note(settings: before, of: app.id)
                #expect(try await run(recomputer, app).isEmpty)
            }
            try await recomputer.note(settings: after, of: app.id)
            let done = try await run(recomputer, app)
            let versions = done.map(\.version)
            #expect(versions == [0])
            let customers = Set(told.withLock { $0 })
            #expect(customers == [customer(1), customer(3), customer(5)])
            #expect(try await due(redis, app) == ["1", "3", "4"])
            let unmapped = try await UnmappedProducts(redis: redis).list(of: app.id, notIn: ProductMap()).0
            #expect(unmapped.isEmpty)
            #expect(try await run(recomputer, app).isEmpty)
        }
    }

    @Test func aMapThatFollowsBeforeEverybodyWasToldIsToldOfFromTheFirstOn() async throws {
        let app = TestApp("settings-maps")
        let told = Mutex<[String]>([])
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            let recomputer = recomputer(redis) { change in told.withLock { $0.append(change.customer) } }
            let between = document(["pro": ["pro"]])
            for map in [before, between, after] { try await recomputer.note(settings: map, of: app.id) }
            _ = try await run(recomputer, app)
            let customers = Set(told.withLock { $0 })
            #expect(customers == [customer(1), customer(3), customer(5)])
        }
    }

    @Test func onceAMapIsPublishedTheSettingsCountNoMore() async throws {
        let app = TestApp("settings-after")
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            let recomputer = recomputer(redis)
            try await recomputer.note(settings: before, of: app.id)
            _ = try await ProductMapStore(redis: redis).publish(
                before, for: app.id, expecting: 0, first: before, by: "tests", comment: "", at: now)
            try await recomputer.note(settings: after, of: app.id)
            let versions = try await run(recomputer, app).map(\.version)
            #expect(versions == [1])
            #expect(try await due(redis, app).isEmpty)
        }
    }
}
