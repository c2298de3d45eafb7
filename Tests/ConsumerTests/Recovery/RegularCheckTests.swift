import AppStore
import Broker
import CacheTier
import Entitlements
import JSON
import Runtime
import Simulator
import TestSupport
import Testing
import Time

@testable import Consumer

@Suite("Regular comparison of Apple's history with what came", .timeLimit(.minutes(6))) struct RegularCheckTests {
    /// One of several consumers, which work on the same app.
    private func consumer(
        _ stage: BackfillStage, _ publisher: SettlingPublisher, _ standings: BackfillStandings = BackfillStandings()
    ) -> RegularCheck {
        RegularCheck(
            jobs: RecoveryStore(
                redis: stage.redis, app: stage.app, environment: .production, settings: stage.settings,
                clock: stage.apple.clock.wall, leaseTime: .seconds(20)),
            backfill: stage.backfill(publisher), seen: stage.seen, settings: BackfillSettings(), lanes: 2,
            standings: standings, clock: stage.apple.clock.wall, log: .discarding)
    }

    /// Looks until a check is made; time passes meanwhile.
    private func checked(_ check: RegularCheck, _ stage: BackfillStage) async throws -> BackfillCheck {
        await stage.apple.pass(.seconds(300))
        return try #require(try await check.look())
    }

    @Test("Invariant 2: what was lost is found within minutes, sent through the line, and the number is 0 again")
    func whatWasLostIsFound() async throws {
        try await BackfillStage.with { stage in
            try await stage.seen.begin(stage.app, .production)
            let publisher = SettlingPublisher(stage.seen)
            let metrics = Metrics()
            let standings = BackfillStandings(metrics: metrics, clock: stage.apple.clock.wall)
            let regular = consumer(stage, publisher, standings)
            let first = try await checked(regular, stage)
            #expect(first.sent == 0)
            // Not twice.
            #expect(try await regular.look() == nil)

            try await stage.apple.sell(30)
            let second = try await checked(regular, stage)
            #expect(second.found == 30)
            #expect(second.notWithUs == 0)
            #expect(second.since == first.from)
            let uuids = await stage.apple.uuids()
            #expect(Set(publisher.uuids) == Set(uuids))
            #expect(publisher.uuids.count == 30)
            let third = try await checked(regular, stage)
            #expect(third.found == 0)
            #expect(third.sent == 30)
            #expect(publisher.uuids.count == 30)

            let text = metrics.exposition()
            let labels = "{app=\"\(stage.app)\",environment=\"production\"}"
            check(text.contains("holdfast_backfill_not_with_us\(labels) 0.0"), text)
            let seconds = Double(third.checkedAt.milliseconds) / 1000
            check(text.contains("holdfast_backfill_checked_timestamp_seconds\(labels) \(seconds)"), text)
            await stage.apple.pass(.seconds(180))
            let standing = try #require(standings.standing(of: stage.app, .production))
            #expect(
                standing.sentence(at: stage.apple.clock.now)
                    == "sent by Apple and not with us: 0, checked 3 minutes ago")
            var json = JSONWriter()
            json.beginObject()
            standings.write(AppleStore(stage.app, .production), to: &json)
            json.endObject()
            let page = try JSONValue.parse(json.bytes)["backfill"]
            #expect(page?["notWithUs"]?.int64 == 0)
            #expect(page?["ageSeconds"]?.int64 == 180)
        }
    }

    @Test("Invariant 2: what no consumer settles stays counted until one does, and is not sent again with every look")
    func whatNobodySettlesStaysCounted() async throws {
        try await BackfillStage.with { stage in
            try await stage.seen.begin(stage.app, .production)
            let publisher = SettlingPublisher()
            let regular = consumer(stage, publisher)
            _ = try await checked(regular, stage)
            try await stage.apple.sell(5)
            let uuids = await stage.apple.uuids()
            #expect(try await checked(regular, stage).notWithUs == 5)
            // Far beyond the window it is known all the same.
            for _ in 0..<8 { #expect(try await checked(regular, stage).notWithUs == 5) }
            #expect(Set(publisher.uuids) == Set(uuids))
            #expect(publisher.uuids.count == 5)
            // What was sent an hour ago and is still not settled is sent again.
            for _ in 0..<8 { _ = try await checked(regular, stage) }
            #expect(publisher.uuids.count == 10)
            try await stage.settle(Array(uuids.prefix(2)))
            #expect(try await checked(regular, stage).notWithUs == 3)
            try await stage.settle(uuids)
            let last = try await checked(regular, stage)
            #expect(last.notWithUs == 0)
            #expect(try await stage.jobs.missing().count == 0)
        }
    }

    @Test("Invariant 2: however long nobody looked, no moment is left out")
    func noMomentIsLeftOut() async throws {
        try await BackfillStage.with { stage in
            try await stage.seen.begin(stage.app, .production)
            let publisher = SettlingPublisher(stage.seen)
            let first = try await checked(consumer(stage, publisher), stage)
            for _ in 0..<3 {
                try await stage.apple.sell(4)
                await stage.apple.pass(.seconds(20 * 3600))
            }
            // Another consumer, which knows nothing of the first.
            let next = try await checked(consumer(stage, publisher), stage)
            #expect(next.from <= first.until)
            #expect(next.since == first.from)
            let uuids = await stage.apple.uuids()
            #expect(Set(publisher.uuids) == Set(uuids))
        }
    }

    @Test func aGapIsReadAtOnceFromItsBeginningAndThenForgotten() async throws {
        try await BackfillStage.with { stage in
            try await stage.seen.begin(stage.app, .production)
            let publisher = SettlingPublisher(stage.seen)
            let regular = consumer(stage, publisher)
            _ = try await checked(regular, stage)
            let now = stage.apple.clock.now
            try await stage.jobs.note(BackfillGap(.refused, from: now - .seconds(7200), until: now))
            // Apple may not have entered it yet.
            #expect(try await regular.look() == nil)
            await stage.apple.pass(.seconds(61))
            let found = try #require(try await regular.look())
            #expect(found.gaps == [.refused])
            #expect(found.from <= now - .seconds(7200))
            #expect(try await stage.jobs.standing().gaps.isEmpty)
            await stage.apple.pass(.seconds(61))
            #expect(try await regular.look() == nil)
        }
    }

    @Test func aGapOlderThanWhatAppleKeepsIsNotWaitedFor() async throws {
        try await BackfillStage.with { stage in
            try await stage.seen.begin(stage.app, .production)
            let regular = consumer(stage, SettlingPublisher(stage.seen))
            _ = try await checked(regular, stage)
            let now = stage.apple.clock.now
            try await stage.jobs.note(
                BackfillGap(.consumersSilent, from: now - .seconds(400 * 86_400), until: now - .seconds(399 * 86_400)))
            let found = try await checked(regular, stage)
            #expect(found.gaps == [.consumersSilent])
            #expect(found.from >= now - .seconds(180 * 86_400))
            #expect(try await stage.jobs.standing().gaps.isEmpty)
        }
    }

    @Test("Invariant 2: one that is interrupted anywhere is gone on with by another consumer, and misses nothing")
    func anInterruptedOneIsGoneOnWith() async throws {
        try await BackfillStage.with { stage in
            try await stage.seen.begin(stage.app, .production)
            _ = try await checked(consumer(stage, SettlingPublisher(stage.seen)), stage)
            for _ in 0..<4 {
                try await stage.apple.sell(25)
                await stage.apple.pass(.seconds(900))
            }
            let publisher = SettlingPublisher(stage.seen)
            var interruptions = 0
            var found: BackfillCheck?
            while found == nil {
                publisher.makeRoom(30)
                do throws(RecoveryFailure) { found = try await consumer(stage, publisher).look() } catch {
                    guard case .notTaken = error else { throw error }
                    interruptions += 1
                }
            }
            #expect(interruptions >= 3)
            let uuids = await stage.apple.uuids()
            #expect(Set(publisher.uuids) == Set(uuids))
            #expect(found?.notWithUs == 0)
        }
    }

    @Test func ofSeveralConsumersOneDoesIt() async throws {
        try await BackfillStage.with { stage in
            try await stage.seen.begin(stage.app, .production)
            try await stage.apple.sell(40)
            await stage.apple.pass(.seconds(120))
            let publisher = SettlingPublisher(stage.seen)
            let made = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<6 {
                    group.addTask { try await self.consumer(stage, publisher).look() != nil }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(made == 1)
            #expect(publisher.uuids.count == 40)
        }
    }

    @Test func ofAnAppThatIsNewHereAllThatAppleKeepsIsRead() async throws {
        try await BackfillStage.with { stage in
            try await stage.apple.sell(3)
            await stage.apple.pass(.seconds(20 * 86_400))
            try await stage.seen.begin(stage.app, .production)
            let publisher = SettlingPublisher(stage.seen)
            let regular = consumer(stage, publisher)
            #expect(try await checked(regular, stage).sent == 0)
            let first = try #require(try await stage.jobs.standing().first)
            #expect(first.history.from <= stage.apple.clock.now - .seconds(179 * 86_400))
            let run = RecoveryRun(
                jobs: stage.jobs, backfill: stage.backfill(publisher), settling: nil, clock: stage.apple.clock.wall)
            guard case .done(let done) = try await run.run(first.name) else {
                Issue.record("it was not done")
                return
            }
            #expect(done.history.figures.beyondMemory == 3)
            #expect(publisher.uuids.count == 3)
            // Once only.
            _ = try await checked(regular, stage)
            #expect(try await stage.jobs.standing().first?.phase == .done)
        }
    }

    @Test func whatCannotBeUsedIsCountedAndWrittenOnceForAll() async throws {
        try await BackfillStage.with { stage in
            try await SimulatedApple.with(clock: stage.apple.clock) { other in
                try await other.sell(12)
                await other.pass(.seconds(120))
                let lines = Lines()
                let backfill = Backfill(
                    app: stage.app, client: other.client, verifier: stage.apple.verifier, seen: stage.seen,
                    publisher: SettlingPublisher(), names: BrokerNames(prefix: "test"), settings: stage.settings,
                    applyPatience: .zero, clock: stage.apple.clock.wall, log: Log(part: "test", sink: lines.sink))
                let regular = RegularCheck(
                    jobs: stage.jobs, backfill: backfill, seen: stage.seen, settings: BackfillSettings(), lanes: 1,
                    standings: BackfillStandings(), clock: stage.apple.clock.wall, log: .discarding)
                let found = try #require(try await regular.look())
                #expect(found.notWithUs == 12)
                let errors = lines.all.filter { $0["level"]?.string == "error" }
                #expect(errors.count == 1)
                #expect(errors.first?["count"]?.int64 == 12)
            }
        }
    }

    @Test func aGapThatEndsAheadIsReadOverOnceAndCleared() async throws {
        try await BackfillStage.with { stage in
            try await stage.seen.begin(stage.app, .production)
            let regular = consumer(stage, SettlingPublisher(stage.seen))
            _ = try await checked(regular, stage)
            let now = stage.apple.clock.now
            try await stage.jobs.note(BackfillGap(.refused, from: now, until: now + .seconds(86_400)))
            _ = try await checked(regular, stage)
            let second = try await checked(regular, stage)
            #expect(second.gaps == [.refused])
            #expect(try await stage.jobs.standing().gaps == [])
            #expect(try await checked(regular, stage).gaps == [])
        }
    }
}
