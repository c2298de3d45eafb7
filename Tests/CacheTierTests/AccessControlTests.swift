import AppStore
import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

/// With the least rights that docs/operating.md and `holdfast doctor` name, everything works, and Redis notes no refusal.
@Suite(.timeLimit(.minutes(6))) struct AccessControlTests {
    @Test func aUserWithTheLeastRightsCanDoAllThatTheStoreDoes() async throws {
        try await RedisServer.withOwn { server in
            var settings = RedisSettings()
            settings.port = server.port
            try await allow(settings, at: [server])
            try await useEverything(settings)
            try await expectNoRefusals(at: [server])
        }
    }

    @Test func theSameGoesForACluster() async throws {
        try await RedisClusterServers.withOwn { servers in
            var settings = RedisSettings()
            settings.mode = .cluster
            settings.addresses = servers.addresses.map { RedisAddress(host: $0.host, port: $0.port) }
            try await allow(settings, at: servers.nodes)
            try await useEverything(settings)
            try await expectNoRefusals(at: servers.nodes)
        }
    }

    @Test func theDocumentsListTheSameRights() async throws {
        let text = try await Command.run("/bin/cat", ["\(Command.packageFolder)/docs/operating.md"]).output
        var (single, cluster, sentinel) = (RedisSettings(), RedisSettings(), RedisSettings())
        (single.database, single.replicas, cluster.mode, sentinel.mode) = (1, 1, .cluster, .sentinel)
        let listed = Set(text.split { " `\n,".contains($0) }.map(String.init))
        for settings in [single, cluster, sentinel] {
            for right in StoreInspector.rights(in: settings).dropFirst() { check(listed.contains(right), "\(right)") }
        }
    }

    private func allow(_ settings: RedisSettings, at servers: [RedisServer]) async throws {
        let rights = StoreInspector.rights(in: settings).map { right in String(right.filter { $0 != "'" }) }
        for server in servers {
            let answer = try await server.cli(["ACL", "SETUSER", "holdfast", "on", ">secret"] + rights)
            #expect(answer == "OK")
        }
    }

    private func expectNoRefusals(at servers: [RedisServer]) async throws {
        for server in servers {
            let log = try await server.cli("ACL", "LOG")
            #expect(log.isEmpty)
        }
    }

    private func useEverything(_ plain: RedisSettings) async throws {
        var settings = plain
        (settings.user, settings.password) = ("holdfast", Secret("secret"))
        let app = TestApp("rights")
        let loop = try EventLoop(name: "rights")
        let connector = settings.connector(loop: loop)
        let redis = connector.link("rights")
        await redis.start()
        check(await redis.waitUntilConnected(within: .seconds(60)))
        let result: Result<Void, any Error>
        do {
            try await use(redis, connector, app)
            result = .success(())
        } catch { result = .failure(error) }
        await redis.close()
        loop.stop()
        try result.get()
    }

    private func use(_ redis: any RedisLink, _ connector: RedisConnector, _ app: TestApp) async throws {
        let forbidden = try await StoreInspector(redis: try await redis.parts()[0]).forbiddenCommands()
        #expect(forbidden == [])

        let store = LineageStore(redis: redis, rules: app.rules(.keep))
        try await store.prepare()
        _ = try await store.apply(app.period(token: nil))
        #expect(try await store.unclaimedCount(app.id, .production) == 1)
        #expect(try await store.unclaimed(app.id, .production, limit: 10).lineages.count == 1)
        let claim = try await store.claim(customer: anna, lineage: app.lineage(), transactionID: "1", at: day(1))
        check(claim.0.isAccepted)
        _ = try await store.history(of: app.lineage())
        try await store.rebuildUnclaimedIndex()

        var settings = CacheSettings()
        settings.feedWait = .milliseconds(100)
        let cache = EntitlementCache(
            settings: settings, redis: connector, rules: [app.id: AppRules(products: products)], metrics: Metrics(),
            log: .discarding)
        await cache.start()
        check(try await eventually { cache.isLive })
        let answer = try await cache.load(app.key(anna), at: day(1))
        #expect(answer.evaluation.entitlements.count == 1)
        await cache.drain()

        try await publish(document(["basic": ["basic", "more"]]), for: app, in: redis)
        var mapSettings = ProductMapSettings()
        mapSettings.followEvery = .milliseconds(1)
        let recomputer = ProductMapRecomputer(
            redis: redis, settings: mapSettings, clock: WallClock { day(5) }, announce: { _ in })
        guard case .done = try await recomputer.run(app.id, policy: .standard) else {
            Issue.record("busy")
            return
        }
        let unmapped = UnmappedProducts(redis: redis)
        try await unmapped.note("unknown", of: app.id, in: .production, notifications: 1, at: day(1))
        _ = try await unmapped.list(of: app.id, notIn: products)

        let due = DueWork(redis: redis, app: app.id, environment: .production, clock: WallClock { day(31) })
        #expect(try await due.status().due == 1)
        for claimed in try await due.claim(limit: 5, lease: .seconds(60)) {
            try await due.put(back: claimed, next: DueCheck(at: day(32), row: .hold))
        }
        _ = try await due.hasten(app.lineage(), of: .customer(anna), to: DueCheck(at: day(31), row: .hold))
        let rules = app.rules()[app.id] ?? StoreRules()
        _ = try await ScheduleFilling(redis: redis, app: app.id, rules: rules).run()
        _ = try await store.apply(app.renewal(signed: 2, on: false))
        let book = ReminderBook(
            redis: redis, app: app.id, environment: .production, rules: rules, clock: WallClock { day(23) })
        check(try await book.take())
        for entry in try await book.due(limit: 5) { try await book.settle(entry, try await book.look(at: entry)) }
        #expect(try await book.counts().scheduled == 1)
        try await book.release()
        let seen = SeenNotifications(redis: redis, clock: WallClock { day(1) })
        try await seen.begin(app.id, .production)
        try await seen.note("uuid", of: app.id, in: .production)
        #expect(try await seen.knows("uuid", of: app.id, in: .production))
        let listed = SeenNotifications.Listed(uuid: "uuid", signedDate: day(1))
        #expect(try await seen.verdicts(on: [listed], of: app.id, in: .production) == [.known])

        var scan = LineageScan(redis: redis, apps: [app.id])
        var lineages: Set<LineageID> = []
        while let page = try await scan.next() { lineages.formUnion(page.lineages) }
        #expect(lineages == [app.lineage()])

        let jobs = RecoveryStore(redis: redis, app: app.id, environment: .production)
        try await jobs.note(OutageNotice(.dark, began: day(1), now: day(2)))
        #expect(try await jobs.jobs().count == 1)
        try await Arrivals(redis: redis).note(at: day(1), of: app.id, in: .production)
        _ = try await Arrivals(redis: redis).hours(of: app.id, in: .production)
        for server in try await redis.parts() { _ = try await RedisClock.compare(with: server, by: .system) }

        let requests = RefundRequests(redis: redis)
        _ = try await requests.isFirst("a", about: "1", app: app.id, environment: .production)

        let bucket = SharedCallBucket(redis: redis, settings: CallBudgetSettings())
        let lane = CallLane(bundleID: app.id.rawValue, environment: .production, group: .frequent)
        _ = await bucket.take(lane, .support)
        await bucket.pause(lane, for: .milliseconds(10))
    }
}
