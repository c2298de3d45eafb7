import AppStore
import Entitlements
import JSON
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier
@testable import Holdfast

/// `holdfast reconcile --plan` and `--status` as an operator and a script meet them.
@Suite(.timeLimit(.minutes(6))) struct ReconcileCommandTests {
    private let app = AppID(RedisServer.uniqueApp("reconcile"))

    private func holdfast(_ arguments: String...) async throws -> TestSupport.Command.Result {
        try await TestSupport.Command.run(try ChildProcess.product("holdfast"), ["reconcile"] + arguments)
    }

    /// A settings file for a Redis of the tests, with what `fill` put there.
    private func withSettings(
        _ fill: (LineageStore) async throws -> Void, _ body: (String) async throws -> Void
    ) async throws {
        let server = try await RedisServer.shared()
        let loop = try EventLoop(name: "reconcile-tests")
        var settings = RedisSettings()
        settings.port = server.port
        settings.commandTimeout = .seconds(30)
        let redis = settings.connector(loop: loop).link("reconcile-tests")
        await redis.start()
        let result: Result<Void, any Error>
        do {
            try await fill(LineageStore(redis: redis))
            result = .success(())
        } catch { result = .failure(error) }
        await redis.close()
        loop.stop()
        try result.get()
        let folder = try TemporaryFolder("reconcile")
        let path = try folder.write(
            """
            {"apps": {"\(app)": {"bundleId": "com.example.demo", "appAppleId": 1}},
             "redis": {"port": \(server.port)}, "spool": {"folder": "\(folder.file("spool"))"},
             "keys": {"k": {"secret": "0123456789abcdef", "scopes": ["read"]}}}
            """, to: "holdfast.json")
        try await body(path)
    }

    /// One bought now, and one whose period was over a while ago without a word.
    private func fill(_ store: LineageStore) async throws {
        let now = WallClock.system.now()
        try await enter("fresh", from: now - .seconds(3600), store)
        try await enter("over", from: now - .seconds(30 * 86_400 + 3600), store)
    }

    private func enter(_ id: String, from begin: Timestamp, _ store: LineageStore) async throws {
        let lineage = LineageID(app: app, environment: .production, originalTransactionID: id)
        _ = try await store.apply(
            Observation(
                lineage: lineage, source: .notification, signedDate: begin,
                transaction: TransactionFact(
                    transactionID: id, originalTransactionID: id, productID: "pro", signedDate: begin,
                    purchaseDate: begin, expiresDate: begin + .seconds(30 * 86_400),
                    type: "Auto-Renewable Subscription", payloadHash: id)),
            cause: .purchase, at: WallClock.system.now() - .seconds(600))
    }

    @Test func theStatusSaysWhatIsOverdue() async throws {
        try await withSettings(fill) { settings in
            let result = try await holdfast("--status", "--json", "--settings", settings)
            #expect(result.status == 1)
            let status = try JSONValue.parse(Array(result.output.utf8))
            #expect(status["due"]?.int64 == 1)
            #expect(status["overdue"]?.int64 == 1)
            #expect(status["scheduled"]?.int64 == 2)
            #expect(status["byUrgency"]?["access"]?["due"]?.int64 == 1)
            let text = try await holdfast("--status", "--settings", settings)
            #expect(text.output.contains("access"))
            #expect(text.output.contains("Nobody asks Apple"))
        }
    }

    @Test func aScheduleInWhichNothingWaitsIsFine() async throws {
        try await withSettings({ try await enter("fresh", from: WallClock.system.now() - .seconds(3600), $0) }) {
            settings in
            let result = try await holdfast("--status", "--settings", settings)
            #expect(result.status == 0)
        }
    }

    @Test func thePlanShowsWhoIsInWhichRow() async throws {
        try await withSettings(fill) { settings in
            let result = try await holdfast("--plan", "--json", "--settings", settings)
            #expect(result.status == 0)
            let plan = try JSONValue.parse(Array(result.output.utf8))
            let rows = plan["rows"]?.array ?? []
            #expect(rows.count == CadenceRow.allCases.count)
            for row in rows {
                let name = row["row"]?.string ?? ""
                let expected: Int64 = name == "hold" || name == "fresh" ? 1 : 0
                #expect(row["subscriptions"]?.int64 == expected, "\(name)")
            }
            #expect(plan["population"]?["subscriptions"]?.int64 == 2)
            #expect(plan["population"]?["byUrgency"]?["access"]?.int64 == 1)
            let calls = plan["population"]?["callsInTheNextDay"]?.int64 ?? 0
            #expect((2...100).contains(calls))
        }
    }

    @Test func withoutSettingsThePlanIsTheTableAndTheMillion() async throws {
        let plan = ReconcilePlan(CallBudgetSettings(), .production)
        #expect(plan.exitCode == 0)
        #expect(plan.text.contains("5.6 h at all that Apple allows"))
        for row in CadenceRow.allCases { #expect(plan.text.contains(row.rawValue)) }
        // The daily life of a million is well within what may be called.
        for one in CadenceForecast.Plan.all {
            #expect(CadenceForecast.questionsPerDay(one) * 1_000_000 < Double(plan.callsADay) / 2, "\(one.name)")
        }
    }

    @Test func mistakesAreNamed() async throws {
        #expect(try await holdfast().status == 2)
        #expect(try await holdfast("--plan", "--status").status == 2)
        #expect(try await holdfast("").status == 2)
        #expect(try await holdfast(" ").status == 2)
        #expect(try await holdfast("--transaction", "").status == 2)
        #expect(try await holdfast("--help").status == 0)
    }

    private func drift(_ cause: Drift.Cause?) -> Drift {
        let lineage = LineageID(app: app, environment: .production, originalTransactionID: "100")
        return Drift(
            id: "a", lineage: lineage, transactionID: "101", purpose: .reconcile,
            foundAt: Timestamp(milliseconds: 1_764_000_000_000),
            differences: [
                Drift.Difference(.status, ours: "1", apples: "2", tellers: [.expired], since: nil, cause: cause)
            ], before: .active, after: .expired)
    }

    @Test func whatIsNotListedIsJudgedToo() {
        #expect(DriftCommand.exitCode([drift(.late), drift(.lost)]) == 1)
        #expect(DriftCommand.exitCode([drift(.late), drift(nil)]) == 0)
        let text = DriftCommand.text([drift(.late)], more: 3, [], open: 0, since: nil)
        #expect(text.contains("and 3 more"))
    }

    @Test func nothingSinceATimeIsNotNothingAtAll() {
        let clean = "Nothing that Apple answered had not been told"
        let counts = [DriftStore.Count(field: .status, cause: .lost, count: 2)]
        let since = Timestamp(milliseconds: 1_764_000_000_000)
        #expect(!DriftCommand.text([], more: 0, counts, open: 0, since: since).contains(clean))
        #expect(DriftCommand.text([], more: 0, [], open: 0, since: since).contains(clean))
    }
}
