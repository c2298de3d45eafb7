import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite(.timeLimit(.minutes(6))) struct ScheduleFillingTests {
    /// A store as an earlier version leaves it, on a server of its own.
    private func withOld(
        lineages: Int, _ body: (TestApp, any RedisLink, [String: [Urgency: Timestamp]]) async throws -> Void
    ) async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let stage = DueStage(redis, TestApp("a:b"))
                for number in 0..<lineages {
                    let environment: StoreEnvironment = number % 3 == 0 ? .sandbox : .production
                    _ = try await stage.store.apply(
                        stage.app.period(
                            of: stage.app.lineage("\(number)", environment), token: number % 2 == 0 ? "c\(number)" : nil
                        ))
                    if number % 4 == 0 {
                        _ = try await stage.store.apply(
                            stage.app.renewal(of: stage.app.lineage("\(number)", environment), signed: 1, on: false))
                    }
                }
                let whole = try await stage.entries().merging(try await stage.entries(.sandbox)) { a, _ in a }
                for pattern in ["hf:*:due:*", "hf:*:remind"] {
                    for key in try await keys(pattern, in: redis) { _ = try await redis.send(["DEL", .text(key)]) }
                }
                try await body(stage.app, redis, whole)
            }
        }
    }

    private func filling(
        _ app: TestApp, _ redis: any RedisCommands, keysAtOnce: Int = 10, leaseTime: Duration = .seconds(60)
    ) -> ScheduleFilling {
        ScheduleFilling(
            redis: redis, app: app.id, rules: app.rules()[app.id] ?? StoreRules(), clock: WallClock { day(1) },
            leaseTime: leaseTime, keysAtOnce: keysAtOnce)
    }

    private func entries(_ app: TestApp, _ redis: any RedisLink) async throws -> [String: [Urgency: Timestamp]] {
        let stage = DueStage(redis, app)
        return try await stage.entries().merging(try await stage.entries(.sandbox)) { a, _ in a }
    }

    @Test func whatAnEarlierVersionStoredIsEnteredOnce() async throws {
        try await withOld(lineages: 120) { app, redis, whole in
            let filling = filling(app, redis)
            #expect(try await filling.progress() == .notBegun)
            #expect(try await filling.run() == .done(entered: 120))
            let found = try await entries(app, redis)
            #expect(Set(found.keys) == Set(whole.keys))
            check(found.values.allSatisfy { $0.count == 1 })
            #expect(try await filling.progress() == .done)
            #expect(try await filling.run() == .already)
            // Those that will not renew have their reminder, if they are somebody's.
            let book = ReminderBook(
                redis: redis, app: app.id, environment: .production, rules: app.rules()[app.id] ?? StoreRules(),
                clock: WallClock { day(23) })
            let due = try await book.due(limit: 1000)
            let expected = (0..<120).filter { $0 % 4 == 0 && $0 % 3 != 0 }.map { "\($0)" }
            #expect(Set(due.map(\.lineage.originalTransactionID)) == Set(expected))
        }
    }

    @Test func whatIsDueForLongIsSpreadOverADay() async throws {
        try await withOld(lineages: 60) { app, redis, _ in
            let late = ScheduleFilling(
                redis: redis, app: app.id, rules: app.rules()[app.id] ?? StoreRules(), clock: WallClock { day(20) })
            _ = try await late.run()
            let times = try await entries(app, redis).values.compactMap { $0[.routine] }
            check(times.allSatisfy { $0 >= day(20) && $0 <= day(21) })
            #expect(Set(times).count > 30)
        }
    }

    @Test("What a consumer of this version wrote meanwhile is left as it is")
    func whatWasWrittenMeanwhileStays() async throws {
        try await withOld(lineages: 20) { app, redis, _ in
            let store = LineageStore(redis: redis, rules: app.rules())
            // Its period is over, so it is due for another reason than what the walk would enter for it.
            _ = try await store.apply(
                app.renewal(of: app.lineage("2"), signed: 3), cause: .answer, at: day(30))
            let before = try await entries(app, redis)
            #expect(before.count == 1)
            #expect(try await filling(app, redis).run() == .done(entered: 19))
            let after = try await entries(app, redis)
            #expect(after.count == 20)
            for (member, times) in before { #expect(after[member] == times) }
        }
    }

    @Test("Invariant 2: interrupted anywhere, it goes on and leaves nothing out")
    func interruptedAnywhereItGoesOn() async throws {
        try await withOld(lineages: 40) { app, redis, whole in
            // Each run dies a little later than the one before; none ends it until the last.
            var commands = 1
            while true {
                let faulty = FaultyRedis(redis, failing: commands, commands % 2 == 0 ? .before : .after)
                let outcome: ScheduleFilling.Outcome?
                do throws(StoreError) {
                    outcome = try await filling(app, faulty, keysAtOnce: 4, leaseTime: .milliseconds(500)).run()
                } catch {
                    outcome = nil
                }
                if case .done = outcome { break }
                if outcome == .already { break }
                // The dead one's lease runs out.
                commands += outcome == .busy ? 0 : 31
                if outcome == .busy { try await Task.sleep(for: .milliseconds(20)) }
            }
            #expect(Set(try await entries(app, redis).keys) == Set(whole.keys))
            #expect(try await filling(app, redis).progress() == .done)
        }
    }

    @Test func oneProcessAtATimeFills() async throws {
        try await withOld(lineages: 10) { app, redis, _ in
            let (one, other) = (filling(app, redis), filling(app, redis))
            async let first = one.run()
            async let second = other.run()
            let outcomes = try await [first, second]
            let done = outcomes.count { $0 == .done(entered: 10) }
            #expect(done == 1)
            check(outcomes.allSatisfy { $0 == .done(entered: 10) || $0 == .busy || $0 == .already }, "\(outcomes)")
        }
    }

    @Test func aNewStoreIsFilledAtOnce() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let app = TestApp()
                let outcome = try await filling(app, redis).run()
                #expect(outcome == .done(entered: 0))
            }
        }
    }
}
