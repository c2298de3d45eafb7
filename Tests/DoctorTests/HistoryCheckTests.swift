import AppStore
import CacheTier
import Entitlements
import JSON
import Redis
import Runtime
import TestSupport
import Testing
import Time

/// Whether all that Apple sent is with us: what the doctor and `holdfast backfill --status` say of what consumers found.
@Suite(.timeLimit(.minutes(6))) struct HistoryCheckTests {
    private static let line = "backfill, demo"

    private func status(_ examinee: Examinee, _ arguments: String...) async throws -> Command.Result {
        try await Command.run(
            try ChildProcess.product("holdfast"),
            ["backfill", "--status", "--settings", examinee.settings] + arguments)
    }

    private func examine(_ examinee: Examinee) async throws -> Examinee.Line {
        try await examinee.examine("--skip", "rabbitmq", "--no-test")[Self.line]
    }

    private func note(
        _ missing: UInt64, ago: Duration, in environment: StoreEnvironment, _ redis: RedisClient
    ) async throws {
        let jobs = RecoveryStore(redis: redis, app: AppID("demo"), environment: environment)
        let now = WallClock.system.now() - ago
        var check = BackfillCheck(checkedAt: now, from: now - .seconds(900), until: now, since: now - .seconds(86_400))
        check.missing = missing
        #expect(try await jobs.take(RecoveryStore.regularName))
        try await jobs.save(check)
        var named = MissingNotifications()
        for number in 0..<missing { named.add("uuid-\(number)", .init(signedDate: now, sentAt: now)) }
        try await jobs.save(named)
        try await jobs.release(RecoveryStore.regularName)
    }

    @Test func theNumberIsToldAndWhatIsWrongWithIt() async throws {
        try await RedisServer.withOwn { server in
            let loop = try EventLoop(name: "history")
            var settings = RedisSettings()
            settings.port = server.port
            settings.commandTimeout = .seconds(30)
            let redis = RedisClient(name: "history", settings: settings, loop: loop)
            await redis.start()
            let other = try Examinee()
            let key = try other.write(try SigningKey().pem(), to: "AuthKey_ABC123DEFG.p8")
            let examinee = try Examinee(
                app: """
                    "serverAPI":{"keyId":"ABC123DEFG","issuerId":"57246542-96fe-1a63-e053-0824d011072a",\
                    "privateKeyFile":"\(key)"}
                    """,
                #","redis":{"port":\#(server.port)},"broker":{"port":1}"#,
                #","appStoreAPI":{"productionURL":"http://127.0.0.1:1","sandboxURL":"http://127.0.0.1:1"}"#)
            let never = try await examine(examinee)
            #expect(never.status == "warning")
            #expect(never.detail.contains("production: what Apple sent was never compared with what came"))
            #expect(try await status(examinee).status == 1)

            for environment in StoreEnvironment.allCases {
                try await note(0, ago: .seconds(190), in: environment, redis)
            }
            let fine = try await examine(examinee)
            #expect(fine.status == "fine", "\(fine)")
            #expect(
                fine.detail.hasPrefix("production: sent by Apple and not with us: 0, checked 3 minutes ago; sandbox:"))
            let told = try await status(examinee)
            #expect(told.status == 0)
            #expect(told.output.hasPrefix("demo production: sent by Apple and not with us: 0, checked 3 minutes ago\n"))

            try await note(4, ago: .seconds(10), in: .sandbox, redis)
            let missing = try await examine(examinee)
            #expect(missing.status == "warning")
            #expect(missing.detail.hasPrefix("sandbox: sent by Apple and not with us: 4, checked 1"))
            let both = try await status(examinee, "--json")
            #expect(both.status == 1)
            let stores = try JSONValue.parse(Array(both.output.utf8))["stores"]?.array ?? []
            let numbers = stores.map { $0["notWithUs"]?.int64 }
            #expect(numbers == [0, 4])
            let names = (stores.last?["missingNotifications"]?.array ?? []).compactMap { $0["uuid"]?.string }
            #expect(names == ["uuid-0", "uuid-1", "uuid-2", "uuid-3"])
            #expect(try await status(examinee).output.contains("  not with us: uuid-0, signed at 20"))
            // Production alone is fine.
            #expect(try await status(examinee, "--environment", "production").status == 0)

            try await note(0, ago: .seconds(7300), in: .production, redis)
            let late = try await status(examinee, "--environment", "production")
            #expect(late.status == 1)
            #expect(late.output.contains("checked 2 hours ago"))
            #expect(late.output.contains("nobody has looked since"))
            await redis.close()
            loop.stop()
        }
    }

    @Test func withoutAKeyThereIsNothingToCompare() async throws {
        let found = try await examine(try Examinee(#","redis":{"port":1},"broker":{"port":1}"#))
        #expect(found.status == "notChecked")
    }
}
