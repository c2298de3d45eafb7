import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite(.timeLimit(.minutes(6)), .everyServer) struct ReminderBookTests {
    private struct Stage {
        let app = TestApp("remind")
        let redis: any RedisLink
        let store: LineageStore
        let time = SetClock(day(0))
        let book: ReminderBook

        init(_ redis: any RedisLink, policy: TransferPolicy = .keep) {
            self.redis = redis
            store = LineageStore(redis: redis, rules: app.rules(policy))
            book = Self.book(app, redis, time, policy)
        }

        func another() -> ReminderBook { Self.book(app, redis, time, .keep) }

        private static func book(
            _ app: TestApp, _ redis: any RedisLink, _ time: SetClock, _ policy: TransferPolicy
        ) -> ReminderBook {
            ReminderBook(
                redis: redis, app: app.id, environment: .production, rules: app.rules(policy)[app.id] ?? StoreRules(),
                clock: time.clock)
        }

        /// A month whose renewal is turned off on the fifth day.
        func cancel(_ id: String = "1000", token: String? = anna) async throws {
            _ = try await store.apply(app.period(of: app.lineage(id), token: token))
            _ = try await store.apply(app.renewal(of: app.lineage(id), signed: 5, on: false))
        }

        /// What is said when everything due is taken through, by id, customer and lead.
        func round() async throws -> [String] {
            var said: [String] = []
            for entry in try await book.due(limit: 100) {
                let finding = try await book.look(at: entry)
                if let reminder = finding.reminder {
                    said.append(
                        "\(entry.lineage.originalTransactionID) \(entry.holder.customer ?? "") \(reminder.lead.rawValue)"
                    )
                }
                try await book.settle(entry, finding)
            }
            return said
        }
    }

    private func withStage(policy: TransferPolicy = .keep, _ body: (Stage) async throws -> Void) async throws {
        try await withRedis(try await TestStore.shared()) { try await body(Stage($0, policy: policy)) }
    }

    @Test(.alsoOnCluster) func eachReminderIsSaidOnceAtItsTime() async throws {
        try await withStage { stage in
            try await stage.cancel()
            var said: [String: [Int]] = [:]
            for number in 6...31 {
                for _ in 0..<3 {
                    stage.time.set(day(number))
                    for line in try await stage.round() { said[line, default: []].append(number) }
                }
            }
            #expect(said == ["1000 \(anna) 7d": [23], "1000 \(anna) 3d": [27], "1000 \(anna) 24h": [29]])
            #expect(try await stage.book.counts().scheduled == 0)
        }
    }

    @Test func nobodyIsRemindedOfWhatRenewsAgainOrWasTakenBack() async throws {
        try await withStage { stage in
            try await stage.cancel("on")
            try await stage.cancel("refunded")
            try await stage.cancel("kept")
            #expect(try await stage.book.counts().scheduled == 3)
            _ = try await stage.store.apply(stage.app.renewal(of: stage.app.lineage("on"), signed: 22))
            _ = try await stage.store.apply(
                stage.app.period(of: stage.app.lineage("refunded"), signed: 22, revoked: 22))
            #expect(try await stage.book.counts().scheduled == 1)
            stage.time.set(day(24))
            #expect(try await stage.round() == ["kept \(anna) 7d"])
        }
    }

    @Test("What became untrue between its time and its turn is not said")
    func whatBecameUntrueIsNotSaid() async throws {
        try await withStage { stage in
            try await stage.cancel()
            stage.time.set(day(23))
            let entry = try #require(try await stage.book.due(limit: 10).first)
            // The write moves nothing that is due out of sight; it removes the entry, which somebody has in hand.
            _ = try await stage.store.apply(stage.app.renewal(signed: 23))
            let finding = try await stage.book.look(at: entry)
            #expect(finding.reminder == nil)
            try await stage.book.settle(entry, finding)
            #expect(try await stage.book.counts().scheduled == 0)
        }
    }

    @Test func newsThatComesInBetweenDoesNotSwallowAReminder() async throws {
        try await withStage { stage in
            try await stage.cancel()
            // It is due, nobody has said it yet, and Apple signs the same anew.
            stage.time.set(day(24))
            _ = try await stage.store.apply(stage.app.renewal(signed: 24, on: false))
            #expect(try await stage.round() == ["1000 \(anna) 7d"])
            #expect(try await stage.round() == [])
        }
    }

    @Test func aLateReminderIsSaidUnlessTheNextHasCome() async throws {
        try await withStage { stage in
            try await stage.cancel()
            stage.time.set(day(28))
            #expect(try await stage.round() == ["1000 \(anna) 3d"])
            stage.time.set(day(31))
            #expect(try await stage.round() == [])
            #expect(try await stage.book.counts().scheduled == 0)
        }
    }

    @Test("Nothing is said twice, even if a clock that is behind enters it anew")
    func nothingIsSaidTwice() async throws {
        try await withStage { stage in
            try await stage.cancel()
            stage.time.set(day(23))
            #expect(try await stage.round() == ["1000 \(anna) 7d"])
            // A consumer whose clock is an hour behind.
            _ = try await stage.store.apply(
                stage.app.renewal(signed: 22, on: false), cause: .answer, at: day(23) - .seconds(3600))
            #expect(try await stage.round() == [])
            stage.time.set(day(27))
            #expect(try await stage.round() == ["1000 \(anna) 3d"])
        }
    }

    @Test func whoeverDiesBeforeNotingItSaysItAgain() async throws {
        try await withStage { stage in
            try await stage.cancel()
            stage.time.set(day(23))
            let entry = try #require(try await stage.book.due(limit: 10).first)
            #expect(try await stage.book.look(at: entry).reminder?.lead == .sevenDays)
            #expect(try await stage.round() == ["1000 \(anna) 7d"])
        }
    }

    @Test func aPurchaseThatMovedIsRemindedOfAtItsNewCustomer() async throws {
        try await withStage { stage in
            try await stage.cancel()
            _ = try await stage.store.apply(
                stage.app.period("2", from: 1, to: 30, token: ben), cause: .purchase, at: day(6))
            stage.time.set(day(23) + .seconds(86_400))
            let said = try await stage.round()
            check(said.allSatisfy { $0.contains(ben) }, "\(said)")
            #expect(said.count == 1)
        }
    }

    @Test func whatNobodyHasIsRemindedOfToNobody() async throws {
        try await withStage { stage in
            try await stage.cancel(token: nil)
            #expect(try await stage.book.counts().scheduled == 0)
        }
    }

    @Test func underShareEachCustomerIsReminded() async throws {
        try await withStage(policy: .share) { stage in
            try await stage.cancel()
            _ = try await stage.store.claim(
                customer: ben, lineage: stage.app.lineage(), transactionID: "1", at: day(6))
            stage.time.set(day(23))
            #expect(try await stage.round().sorted() == ["1000 \(anna) 7d", "1000 \(ben) 7d"])
        }
    }

    @Test func whatTheCustomerKeepsByOtherPurchasesIsTold() async throws {
        try await withStage { stage in
            try await stage.cancel()
            _ = try await stage.store.apply(
                stage.app.period("9", of: stage.app.lineage("2000"), from: 20, to: 50, product: "pro"))
            stage.time.set(day(23))
            let entry = try #require(try await stage.book.due(limit: 10).first)
            let finding = try await stage.book.look(at: entry)
            #expect(finding.evaluation?.entitlements == ["basic"])
            #expect(finding.kept == ["basic"])
        }
    }

    @Test(.alsoOnCluster) func oneProcessAtATimeReminds() async throws {
        try await withStage { stage in
            let other = stage.another()
            #expect(try await stage.book.take())
            #expect(try await stage.book.take())
            #expect(try await !other.take())
            try await stage.book.release()
            #expect(try await other.take())
        }
    }

    @Test func whatDoesNotBelongThereIsRemovedAndOddTimesAreMovedOn() async throws {
        try await withStage { stage in
            try await stage.cancel()
            let home = StorageLayout.partition(of: Holder.customer(anna).path(stage.app.id, .production))
            let key = StorageLayout.reminders(stage.app.id, .production, partition: home)
            for number in 0..<5 { _ = try await stage.redis.send(["ZADD", .text(key), "1", "junk-\(number)"]) }
            stage.time.set(day(10))
            #expect(try await stage.book.due(limit: 5).isEmpty)
            #expect(try await stage.book.counts().scheduled == 1)
            _ = try await stage.redis.send(["ZADD", .text(key), "1.5", "\(anna) 1000"])
            let entry = try #require(try await stage.book.due(limit: 5).first)
            let finding = try await stage.book.look(at: entry)
            #expect(try await stage.book.settle(entry, finding))
            #expect(try await stage.book.due(limit: 5).isEmpty)
            #expect(try await stage.book.counts().scheduled == 1)
            // It is not as it was seen any more.
            #expect(try await !stage.book.settle(entry, finding))
        }
    }
}
