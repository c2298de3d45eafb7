import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import CacheTier

/// A clock that shows what a test sets it to.
final class SetClock: Sendable {
    private let instant: Mutex<Timestamp>
    init(_ instant: Timestamp) { self.instant = Mutex(instant) }
    func set(_ instant: Timestamp) { self.instant.withLock { $0 = instant } }
    var clock: WallClock { WallClock { self.instant.withLock { $0 } } }
}

/// The schedule of one app, with a clock of the test's own.
struct DueStage {
    let app: TestApp
    let store: LineageStore
    let redis: any RedisLink
    let time: SetClock
    let work: DueWork

    init(_ redis: any RedisLink, _ app: TestApp = TestApp("due"), policy: TransferPolicy = .keep) {
        self.app = app
        self.redis = redis
        store = LineageStore(redis: redis, rules: app.rules(policy))
        time = SetClock(day(0))
        work = DueWork(redis: redis, app: app.id, environment: .production, clock: time.clock)
    }

    /// Another process at the same schedule.
    func another() -> DueWork { DueWork(redis: redis, app: app.id, environment: .production, clock: time.clock) }

    /// What the schedule says of each holder's lineages: in which sets it stands, and when it is due.
    func entries(_ environment: StoreEnvironment = .production) async throws -> [String: [Urgency: Timestamp]] {
        var found: [String: [Urgency: Timestamp]] = [:]
        for urgency in Urgency.allCases {
            for partition in 0..<StorageLayout.partitions {
                let key = StorageLayout.due(urgency, app.id, environment, partition: partition)
                let reply = try await redis.send(["ZRANGE", .text(key), "0", "-1", "WITHSCORES"])
                for (member, score) in reply.scores { found[member, default: [:]][urgency] = score }
            }
        }
        return found
    }

    /// One whose period is over without a word, one whose end is near, and one in its first week, all due at the hour that
    /// the clock shows afterwards.
    func fill() async throws {
        func enter(_ id: String, from: Int, at day: Timestamp) async throws {
            _ = try await store.apply(
                app.period(of: app.lineage(id), from: from, to: from + 30), cause: .purchase, at: day)
        }
        try await enter("fresh", from: 28, at: day(28))
        try await enter("ending", from: 1, at: day(29))
        try await enter("over", from: 0, at: day(30))
        time.set(day(30) + .seconds(3600))
    }
}

@Suite(.timeLimit(.minutes(6)), .everyServer) struct DueWorkTests {
    private func withStage(
        policy: TransferPolicy = .keep, _ body: (DueStage) async throws -> Void
    ) async throws {
        try await withRedis(try await TestStore.shared()) { try await body(DueStage($0, policy: policy)) }
    }

    private func ids(_ due: [DueLineage]) -> [String] { due.map(\.lineage.originalTransactionID) }

    @Test(.alsoOnCluster) func whatIsStoredIsDueByItsCadence() async throws {
        try await withStage { stage in
            _ = try await stage.store.apply(stage.app.period())
            let next = Cadence.next(for: folded([stage.app.period()], stage.app.lineage()), map: products, at: day(0))
            let expected = try #require(next)
            #expect(try await stage.entries() == ["\(anna) 1000": [expected.urgency: expected.at]])
            #expect(try await stage.work.claim(limit: 10, lease: .seconds(60)).isEmpty)
            stage.time.set(expected.at - .milliseconds(1))
            #expect(try await stage.work.claim(limit: 10, lease: .seconds(60)).isEmpty)
            stage.time.set(expected.at)
            let due = try await stage.work.claim(limit: 10, lease: .seconds(60))
            #expect(due.map(\.lineage) == [stage.app.lineage()])
            #expect(due.first?.since == expected.at)
            #expect(due.first?.urgency == .routine)
            #expect(due.first?.holders == [.customer(anna)])
        }
    }

    @Test(.alsoOnCluster) func theMostUrgentComesFirst() async throws {
        try await withStage { stage in
            try await stage.fill()
            #expect(ids(try await stage.work.claim(limit: 2, lease: .seconds(60))) == ["over", "ending"])
            #expect(ids(try await stage.work.claim(limit: 2, lease: .seconds(60))) == ["fresh"])
            #expect(try await stage.work.claim(limit: 2, lease: .seconds(60)).isEmpty)
        }
    }

    @Test func amongEquallyUrgentWhatHasWaitedLongestComesFirst() async throws {
        try await withStage { stage in
            for number in 0..<20 {
                let id = stage.app.lineage("\(number)")
                _ = try await stage.store.apply(
                    stage.app.period(of: id, from: 19 - number, to: 40), cause: .purchase, at: day(19 - number))
            }
            stage.time.set(day(60))
            // Each has been waiting since about a day after its purchase.
            var last = Timestamp(milliseconds: 0)
            for _ in 0..<4 {
                let due = try await stage.work.claim(limit: 5, lease: .seconds(60))
                #expect(due.count == 5)
                for one in due {
                    #expect(one.since >= last)
                    last = one.since
                }
            }
        }
    }

    @Test("Invariant 2: what a dead consumer had claimed comes due again", .alsoOnCluster)
    func whatADeadConsumerHadClaimedComesDueAgain() async throws {
        try await withStage { stage in
            try await stage.fill()
            #expect(try await stage.work.claim(limit: 10, lease: .milliseconds(200)).count == 3)
            // It is never heard of again.
            let other = stage.another()
            #expect(try await other.claim(limit: 10, lease: .seconds(60)).isEmpty)
            let (time, began) = (stage.time, stage.time.clock.now())
            let found = Mutex<Set<LineageID>>([])
            let tries = Mutex(0)
            let again = try await eventually {
                // By the clock of consumers it is a second later each time, by that of Redis whatever it is.
                let number = tries.withLock { number in
                    number += 1
                    return number
                }
                time.set(began + .seconds(number))
                let due = try await other.claim(limit: 10, lease: .milliseconds(100))
                return found.withLock { found in
                    found.formUnion(due.map(\.lineage))
                    return found.count == 3
                }
            }
            check(again)
        }
    }

    @Test("However many claim at once, each lineage is claimed by one", .alsoOnCluster)
    func eachLineageIsClaimedByOne() async throws {
        try await withStage { stage in
            let count = 120
            for number in 0..<count {
                _ = try await stage.store.apply(
                    stage.app.period(of: stage.app.lineage("\(number)"), token: number % 2 == 0 ? "c\(number)" : nil))
            }
            stage.time.set(day(30) + .seconds(60))
            let claimed = try await withThrowingTaskGroup(of: [DueLineage].self) { group in
                for _ in 0..<4 {
                    let work = stage.another()
                    group.addTask {
                        var mine: [DueLineage] = []
                        var misses = 0
                        while misses < 3 {
                            let due = try await work.claim(limit: 16, lease: .seconds(3600))
                            if due.isEmpty { misses += 1 }
                            mine += due
                        }
                        return mine
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            // Whoever lost a race for some finds nothing and stops, so what is left is taken now.
            var all = claimed
            while true {
                let rest = try await stage.work.claim(limit: 50, lease: .seconds(3600))
                if rest.isEmpty { break }
                all += rest
            }
            #expect(all.count == count)
            #expect(Set(all.map(\.lineage)).count == count)
        }
    }

    @Test func whatTheAnswerChangedIsNotPutBack() async throws {
        try await withStage { stage in
            _ = try await stage.store.apply(stage.app.period())
            stage.time.set(day(30) + .seconds(60))
            let due = try #require(try await stage.work.claim(limit: 1, lease: .seconds(600)).first)
            #expect(due.urgency == .routine)
            // Apple's answer: it renewed.
            _ = try await stage.store.apply(
                stage.app.period("2", from: 30, to: 60), cause: .answer, at: day(30) + .seconds(61))
            let renewed = try await stage.entries()
            try await stage.work.put(back: due, next: DueCheck(at: day(40), row: .running))
            #expect(try await stage.entries() == renewed)
        }
    }

    @Test func whatTheAnswerDidNotChangeIsPutBackAndCanBeClaimedAtOnce() async throws {
        try await withStage { stage in
            _ = try await stage.store.apply(stage.app.period())
            stage.time.set(day(30) + .seconds(60))
            let due = try #require(try await stage.work.claim(limit: 1, lease: .seconds(600)).first)
            // It is in another row than it was claimed in.
            let again = stage.time.clock.now() + .seconds(30)
            try await stage.work.put(back: due, next: DueCheck(at: again, row: .hold))
            #expect(try await stage.entries() == ["\(anna) 1000": [.access: again]])
            stage.time.set(again)
            let second = try #require(try await stage.another().claim(limit: 1, lease: .seconds(600)).first)
            // Nothing is to be asked any more.
            try await stage.work.put(back: second, next: nil)
            #expect(try await stage.entries() == [:])
            // Whoever puts back what is not theirs any more changes nothing.
            try await stage.work.put(back: due, next: DueCheck(at: again, row: .hold))
            #expect(try await stage.entries() == [:])
        }
    }

    @Test(.alsoOnCluster) func aLineageThatSeveralHaveIsClaimedOnce() async throws {
        try await withStage(policy: .share) { stage in
            _ = try await stage.store.apply(stage.app.period())
            for customer in [ben, carl] {
                let (decision, _) = try await stage.store.claim(
                    customer: customer, lineage: stage.app.lineage(), transactionID: "1", at: day(1))
                check(decision.isAccepted)
            }
            let entries = try await stage.entries()
            #expect(entries.count == 3)
            stage.time.set(day(30) + .seconds(60))
            let due = try await stage.work.claim(limit: 10, lease: .seconds(600))
            #expect(due.count == 1)
            #expect(due.first?.holders.sorted() == [.customer(anna), .customer(ben), .customer(carl)])
            let again = stage.time.clock.now() + .seconds(30)
            if let first = due.first { try await stage.work.put(back: first, next: DueCheck(at: again, row: .hold)) }
            let after = try await stage.entries()
            #expect(after.count == 3)
            check(after.values.allSatisfy { $0 == [.access: again] })
        }
    }

    @Test func anotherHoldersCopyWaitsWhileSomebodyAsks() async throws {
        try await withStage(policy: .share) { stage in
            _ = try await stage.store.apply(stage.app.period())
            _ = try await stage.store.claim(
                customer: ben, lineage: stage.app.lineage(), transactionID: "1", at: day(1))
            stage.time.set(day(30) + .seconds(60))
            // One at a time, as by consumers that see different parts of the schedule.
            let first = try await stage.work.claim(limit: 1, lease: .seconds(600))
            #expect(first.count == 1)
            #expect(try await stage.another().claim(limit: 1, lease: .seconds(600)).isEmpty)
            for due in first {
                try await stage.work.put(back: due, next: DueCheck(at: day(31), row: .hold))
            }
        }
    }

    @Test("Invariant 7: sandbox and production are scheduled apart") func environmentsAreScheduledApart() async throws {
        try await withStage { stage in
            _ = try await stage.store.apply(stage.app.period(of: stage.app.lineage("1", .sandbox)))
            stage.time.set(day(31))
            #expect(try await stage.work.claim(limit: 10, lease: .seconds(60)).isEmpty)
            let sandbox = DueWork(
                redis: stage.redis, app: stage.app.id, environment: .sandbox, clock: stage.time.clock)
            let due = try await sandbox.claim(limit: 10, lease: .seconds(60))
            #expect(due.map(\.lineage) == [stage.app.lineage("1", .sandbox)])
        }
    }

    @Test func whatIsOverForGoodLeavesTheSchedule() async throws {
        try await withStage { stage in
            _ = try await stage.store.apply(stage.app.period())
            #expect(try await stage.entries().count == 1)
            // What Apple says half a year later.
            _ = try await stage.store.apply(
                stage.app.renewal(signed: 31, on: false), cause: .answer, at: day(200))
            #expect(try await stage.entries() == [:])
            #expect(try await stage.work.status().scheduled == 0)
        }
    }

    @Test("Invariant 2: every copy has its next check, wherever a move was interrupted", arguments: [false, true])
    func everyCopyHasItsNextCheck(afterTheCommand: Bool) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            var number = 0
            while true {
                let stage = DueStage(redis)
                _ = try await stage.store.apply(stage.app.period(token: nil))
                let faulty = FaultyRedis(redis, failing: number, afterTheCommand ? .after : .before)
                do throws(StoreError) {
                    _ = try await LineageStore(redis: faulty, rules: stage.app.rules()).claim(
                        customer: anna, lineage: stage.app.lineage(), transactionID: "1", at: day(1))
                } catch { #expect(error.isRetryable) }
                let state = try await StoredState.of(stage.app.lineage(), in: redis)
                let expected = Set(state.records.keys.map { LineageSchedule.member(stage.app.lineage(), $0) })
                let entries = try await stage.entries()
                #expect(Set(entries.keys) == expected)
                check(entries.values.allSatisfy { $0.count == 1 })
                _ = try await stage.store.claim(
                    customer: anna, lineage: stage.app.lineage(), transactionID: "1", at: day(1))
                #expect(Set(try await stage.entries().keys) == ["\(anna) 1000"])
                guard faulty.hasFailed else { break }
                number += 1
            }
        }
    }

    @Test func aCheckIsHastenedAndNeverPutOff() async throws {
        try await withStage { stage in
            _ = try await stage.store.apply(stage.app.period())
            let (id, holder) = (stage.app.lineage(), Holder.customer(anna))
            #expect(try await stage.work.hasten(id, of: holder, to: DueCheck(at: day(0), row: .unverified)))
            #expect(try await stage.entries() == ["\(anna) 1000": [.access: day(0)]])
            #expect(try await !stage.work.hasten(id, of: holder, to: DueCheck(at: day(5), row: .running)))
            #expect(try await !stage.work.hasten(id, of: .customer(ben), to: DueCheck(at: day(0), row: .running)))
            #expect(try await stage.entries() == ["\(anna) 1000": [.access: day(0)]])
        }
    }

    @Test(.alsoOnCluster) func theStatusCountsWhatIsDueAndSinceWhen() async throws {
        try await withStage { stage in
            try await stage.fill()
            let status = try await stage.work.status()
            #expect(status.scheduled == 3)
            #expect(status.due == 3)
            for urgency in Urgency.allCases {
                #expect(status[urgency].due == 1)
                #expect(status[urgency].overdue == 1)
            }
            // Within seconds of its end.
            let since = try #require(status[.access].oldest)
            #expect(since >= day(30) && since <= day(30) + .seconds(5))
            stage.time.set(day(30) + .seconds(30))
            #expect(try await stage.work.status()[.access].due == 1)
            #expect(try await stage.work.status()[.access].overdue == 0)
            let due = try await stage.work.claim(limit: 10, lease: .seconds(60))
            #expect(due.count == 3)
            #expect(try await stage.work.status().due == 0)
            #expect(try await stage.work.status().scheduled == 3)
            for one in due { try await stage.work.put(back: one, next: DueCheck(at: day(1), row: .ending)) }
            let after = try await stage.work.status()
            #expect(after[.ending].due == 3)
            #expect(after[.ending].overdue == 3)
            #expect(after[.ending].oldest == day(1))
        }
    }

    @Test func idsOfAnyKindComeBackAsTheyWere() async throws {
        try await withStage { stage in
            for id in ["a b", "unclaimed:1", "50%", "é", "x:y"] {
                _ = try await stage.store.apply(stage.app.period(of: stage.app.lineage(id), token: nil))
            }
            stage.time.set(day(31))
            let due = try await stage.work.claim(limit: 10, lease: .seconds(60))
            #expect(Set(ids(due)) == ["a b", "unclaimed:1", "50%", "é", "x:y"])
        }
    }

    @Test(.alsoOnCluster) func whatDoesNotBelongThereIsRemovedAndBlocksNothing() async throws {
        try await withStage { stage in
            try await stage.fill()
            let holder = Holder.customer(anna)
            let home = StorageLayout.partition(of: holder.path(stage.app.id, .production))
            let member = LineageSchedule.member(stage.app.lineage("astray"), holder)
            for urgency in Urgency.allCases {
                let key = StorageLayout.due(urgency, stage.app.id, .production, partition: home)
                for number in 0..<6 { _ = try await stage.redis.send(["ZADD", .text(key), "1", "junk-\(number)"]) }
                _ = try await stage.redis.send(["ZADD", .text(key), "1", .bytes([0xff, 0xfe])])
                let other = (home + 1) % StorageLayout.partitions
                let away = StorageLayout.due(urgency, stage.app.id, .production, partition: other)
                _ = try await stage.redis.send(["ZADD", .text(away), "1", .text(member)])
            }
            let metrics = Metrics()
            let work = DueWork(
                redis: stage.redis, app: stage.app.id, environment: .production, clock: stage.time.clock,
                metrics: metrics)
            var found: [String] = []
            for _ in 0..<20 where found.count < 3 { found += ids(try await work.claim(limit: 3, lease: .seconds(60))) }
            #expect(Set(found) == ["over", "ending", "fresh"])
            #expect(try await work.status().scheduled == 3)
            let removed = metrics.counter(
                "holdfast_schedule_strays_total", "",
                labels: ["app": stage.app.id.rawValue, "environment": "production"]
            ).value
            #expect(removed == UInt64(Urgency.allCases.count * 8))
        }
    }

    @Test(.alsoOnCluster, arguments: ["-inf", "1.5", "1750000000000.25", "-7"])
    func oddTimesAreClaimedAndReplaced(_ score: String) async throws {
        try await withStage { stage in
            _ = try await stage.store.apply(stage.app.period())
            let standing = try await stage.entries()["\(anna) 1000"]
            let urgency = try #require(standing?.keys.first)
            stage.time.set(day(1))
            let home = StorageLayout.partition(of: Holder.customer(anna).path(stage.app.id, .production))
            let key = StorageLayout.due(urgency, stage.app.id, .production, partition: home)
            _ = try await stage.redis.send(["ZADD", .text(key), .text(score), .text("\(anna) 1000")])
            let due = try await stage.work.claim(limit: 10, lease: .seconds(60))
            #expect(ids(due) == ["1000"])
            #expect(try await stage.work.claim(limit: 10, lease: .seconds(60)).isEmpty)
            let one = try #require(due.first)
            #expect(try await stage.work.stands(one))
            try await stage.work.put(back: one, next: DueCheck(at: day(20), row: .ending))
            #expect(try await stage.entries() == ["\(anna) 1000": [.ending: day(20)]])
        }
    }
}
