import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite("Recoveries in Redis", .timeLimit(.minutes(6))) struct RecoveryStoreTests {
    private static let noon = Timestamp(milliseconds: 1_764_000_000_000)

    private func job(_ name: String, _ phase: RecoveryJob.Phase = .history, at now: Timestamp = noon) -> RecoveryJob {
        RecoveryJob(
            name: name, cause: .command, phase: phase,
            history: BackfillProgress(from: Self.noon - .seconds(60), until: Self.noon), at: now)
    }

    private func store(
        _ redis: any RedisCommands, _ app: AppID, lease: Duration = .seconds(30)
    ) -> RecoveryStore {
        RecoveryStore(
            redis: redis, app: app, environment: .production, clock: WallClock { Self.noon }, leaseTime: lease)
    }

    @Test func oneProcessIsAtItAtATimeAndADeadOnesWorkIsTakenOver() async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let app = AppID(RedisServer.uniqueApp("recovery"))
            let (first, second) = (store(redis, app, lease: .seconds(5)), store(redis, app))
            var job = job("a")
            try await first.add(job)
            #expect(try await first.take("a"))
            #expect(try await first.take("a"))
            // Another one, meanwhile, can be worked on.
            #expect(try await second.take("b"))
            job.history.figures.sent = 5
            try await first.save(job)
            #expect(try await second.job("a")?.history.figures.sent == 5)
            // The first one is heard of no more.
            let isTakenOver = try await eventually { try await second.take("a") }
            #expect(isTakenOver)
            job.history.figures.sent = 6
            var isRefused = false
            do throws(RecoveryStore.Failure) { try await first.save(job) } catch {
                if case .leaseLost = error { isRefused = true }
            }
            #expect(isRefused)
            #expect(try await second.job("a")?.history.figures.sent == 5)
            try await second.release("a")
            #expect(try await first.take("a"))
        }
    }

    @Test func finishedOnesAreKeptUpToABound() async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let store = store(redis, AppID(RedisServer.uniqueApp("recovery")))
            try await store.add(job("open", at: Self.noon - .seconds(9999)))
            for number in 0..<30 {
                try await store.add(job("done-\(number)", .done, at: Self.noon + .seconds(number)))
            }
            let names = try await store.jobs().map(\.name)
            #expect(names.count == RecoveryStore.kept + 1)
            #expect(names.first == "done-29")
            #expect(names.last == "open")
        }
    }

    @Test func commandsThatNobodyBroughtToAnEndAreKeptUpToABound() async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let store = store(redis, AppID(RedisServer.uniqueApp("recovery")))
            try await store.add(job("busy", at: Self.noon - .seconds(9999)))
            #expect(try await store.take("busy"))
            for number in 0..<30 { try await store.add(job("left-\(number)", at: Self.noon + .seconds(number))) }
            let names = try await store.jobs().map(\.name)
            #expect(names.count == RecoveryStore.kept + 1)
            #expect(names.first == "left-29")
            // Somebody is at it.
            #expect(names.last == "busy")
        }
    }

    @Test(arguments: ["soon", "", "nan", "inf", "1e300", "-99999999999999999999", "1764003600000"])
    func aLastTimeThatCannotBeIsASilence(_ heard: String) async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let store = store(redis, AppID(RedisServer.uniqueApp("recovery")))
            _ = try await redis.send(["HSET", .text(store.key), "heard:consumer", .text(heard)])
            let silence = Duration.seconds(120)
            let silent = try #require(try await store.beat(.consumer, at: Self.noon, silence: silence))
            #expect(silent >= silence)
            let gap = BackfillGap(.consumersSilent, from: Self.noon - silence, until: Self.noon)
            #expect(try await store.standing().gaps == [gap])
            try await store.clear([gap])
            // From now on it is right.
            #expect(try await store.beat(.consumer, at: Self.noon + .seconds(60), silence: silence) == nil)
            #expect(try await store.beat(.consumer, at: Self.noon + .seconds(360), silence: silence) == .seconds(300))
        }
    }

    @Test func aGapThatEndsAheadEndsNow() async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let store = store(redis, AppID(RedisServer.uniqueApp("recovery")))
            let gap = BackfillGap(.refused, from: Self.noon - .seconds(60), until: Self.noon + .seconds(86_400))
            try await store.note(gap)
            let capped = try await store.cap(gap, at: Self.noon)
            #expect(capped == BackfillGap(.refused, from: Self.noon - .seconds(60), until: Self.noon))
            #expect(try await store.standing().gaps == [capped])
            // One that began ahead began at least so much earlier as it ends ahead.
            let ahead = BackfillGap(.gatewaysSilent, from: Self.noon + .seconds(60), until: Self.noon + .seconds(90))
            let expected = BackfillGap(.gatewaysSilent, from: Self.noon - .seconds(90), until: Self.noon)
            #expect(ahead.capped(at: Self.noon) == expected)
        }
    }

    @Test func whatManyProcessesNoticeAtOnceBecomesOneRecovery() async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let store = store(redis, AppID(RedisServer.uniqueApp("recovery")))
            let over = Self.noon + .seconds(7200)
            for kind in [OutageNotice.Kind.dark, .light] {
                try await withThrowingTaskGroup { group in
                    for number in 0..<8 {
                        group.addTask {
                            let began = Self.noon + .seconds(number)
                            _ = try await store.note(OutageNotice(kind, began: began, now: over + .seconds(number)))
                        }
                    }
                    try await group.waitForAll()
                }
            }
            let jobs = try await store.jobs()
            #expect(jobs.count == 1)
            #expect(jobs.first?.phase == .history)
            #expect(jobs.first?.history.from == Self.noon - RecoverySettings().margin)
        }
    }

    @Test func anAdoptedOutageIsAdoptedOnce() async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let store = store(redis, AppID(RedisServer.uniqueApp("recovery")))
            let dark = OutageNotice(.dark, began: Self.noon - .seconds(7200), now: Self.noon - .seconds(3600))
            let waiting = try #require(try await store.note(dark))
            #expect(try await store.adopt(waiting)?.phase == .history)
            #expect(try await store.adopt(waiting) == nil)
        }
    }
}

@Suite("What was settled lately", .timeLimit(.minutes(6))) struct SeenNotificationsTests {
    private static let noon = Timestamp(milliseconds: 1_764_000_000_000)

    private static func listed(_ uuid: String, _ offset: Int = 0) -> SeenNotifications.Listed {
        SeenNotifications.Listed(uuid: uuid, signedDate: noon + .seconds(offset))
    }

    private func memory(
        _ redis: any RedisCommands, at time: Timestamp = noon, _ settings: RecoverySettings = RecoverySettings()
    ) -> SeenNotifications {
        SeenNotifications(redis: redis, settings: settings, clock: WallClock { time })
    }

    @Test func whatWasSettledIsKnownAndElseItIsNew() async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let app = AppID(RedisServer.uniqueApp("seen"))
            let memory = memory(redis)
            try await memory.begin(app, .production)
            for number in 0..<40 { try await memory.note("uuid-\(number)", of: app, in: .production) }
            let asked = (0..<50).map { Self.listed("uuid-\($0)", 1) }
            let verdicts = try await memory.verdicts(on: asked, of: app, in: .production)
            #expect(verdicts == Array(repeating: .known, count: 40) + Array(repeating: .new, count: 10))
            #expect(try await memory.knows("uuid-3", of: app, in: .production))
            #expect(try await !memory.knows("uuid-43", of: app, in: .production))
        }
    }

    @Test("Invariant 7: what the sandbox settled is not known in production")
    func environmentsAreApart() async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let app = AppID(RedisServer.uniqueApp("seen"))
            let memory = memory(redis)
            for environment in StoreEnvironment.allCases { try await memory.begin(app, environment) }
            try await memory.note("a", of: app, in: .sandbox)
            #expect(try await memory.verdicts(on: [Self.listed("a", 1)], of: app, in: .sandbox) == [.known])
            #expect(try await memory.verdicts(on: [Self.listed("a", 1)], of: app, in: .production) == [.new])
        }
    }

    @Test func whatIsOlderThanTheMemoryIsNotCalledNew() async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let app = AppID(RedisServer.uniqueApp("seen"))
            // Nobody has begun to remember.
            #expect(
                try await memory(redis).verdicts(on: [Self.listed("a")], of: app, in: .production) == [.beyondMemory])
            try await memory(redis).begin(app, .production)
            try await memory(redis, at: Self.noon + .seconds(600)).begin(app, .production)
            let early = [Self.listed("a", -1), Self.listed("b", 1)]
            #expect(try await memory(redis).verdicts(on: early, of: app, in: .production) == [.beyondMemory, .new])
            // Eight days later a week is remembered.
            try await memory(redis).note("b", of: app, in: .production)
            let later = memory(redis, at: Self.noon + .seconds(8 * 86_400))
            let old = [Self.listed("a", 1), Self.listed("c", 2 * 86_400)]
            #expect(try await later.verdicts(on: old, of: app, in: .production) == [.beyondMemory, .new])
        }
    }

    @Test("Invariant 10: it remembers so many, lets go of the oldest, and knows that it did")
    func theMemoryIsBounded() async throws {
        try await withRedis(try await RedisServer.shared()) { redis in
            let app = AppID(RedisServer.uniqueApp("seen"))
            var settings = RecoverySettings()
            settings.seenMaximum = 160
            try await memory(redis, settings).begin(app, .production)
            for number in 0..<1000 {
                try await memory(redis, at: Self.noon + .seconds(number), settings).note(
                    "uuid-\(number)", of: app, in: .production)
            }
            let now = memory(redis, at: Self.noon + .seconds(1000), settings)
            let verdicts = try await now.verdicts(
                on: (0..<1000).map { Self.listed("uuid-\($0)", $0) }, of: app, in: .production)
            let known = verdicts.count { $0 == .known }
            #expect(known == 160)
            #expect(verdicts.last == .known)
            // None of those that it let go of counts as new.
            #expect(!verdicts.contains(.new))
            #expect(
                try await now.verdicts(on: [Self.listed("other", 999)], of: app, in: .production) == [.new])
        }
    }
}

extension SeenNotificationsTests {
    private func memory(_ redis: any RedisCommands, _ settings: RecoverySettings) -> SeenNotifications {
        memory(redis, at: Self.noon, settings)
    }
}
