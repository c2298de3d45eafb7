import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite(.timeLimit(.minutes(6)), .everyServer) struct HistoryTests {
    @Test func whatHappenedIsWrittenWithTheRecord() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules())
            var bought = app.period()
            bought.notificationUUID = "u-1"
            let first = try await store.apply(bought, cause: .purchase, at: day(0))
            #expect(first.entries.map(\.kind) == [.transition, .transfer])
            #expect(first.entries.first?.to == .active)
            #expect(first.entries.first?.cause == .purchase)
            #expect(first.entries.first?.notificationUUID == "u-1")
            #expect(first.entries.last?.fromCustomer == nil)
            #expect(first.entries.last?.toCustomer == anna)
            #expect(first.entries.last?.detail == "token")
            let second = try await store.apply(app.renewal(signed: 1, on: false), cause: .preference, at: day(1))
            #expect(second.entries.first?.to == .canceled)
            #expect(try await store.history(of: app.lineage()) == first.entries + second.entries)
            #expect(try await store.history(of: app.lineage("other")).isEmpty)
        }
    }

    @Test func whatChangesNothingIsNotNoted() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules())
            _ = try await store.apply(app.period())
            let before = try await storedHistories(app.lineage(), in: redis)
            let again = try await store.apply(app.period(), cause: .purchase, at: day(5))
            #expect(again.entries.isEmpty)
            #expect(try await storedHistories(app.lineage(), in: redis) == before)
        }
    }

    @Test("Invariant 10: a history is bounded") func aHistoryIsBounded() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            var settings = StoreSettings()
            settings.historyKept = 20
            let store = LineageStore(redis: redis, settings: settings, rules: app.rules())
            var told: [HistoryEntry] = []
            for number in 0..<30 { told += try await store.apply(app.renewal(signed: number)).entries }
            for number in 0..<30 { told += try await store.apply(app.period("\(number)", from: number)).entries }
            #expect(try await store.history(of: app.lineage()) == told.suffix(20))
            // Also when it is carried along.
            told += try await store.apply(app.period("x", from: 100, token: ben)).entries
            #expect(try await store.history(of: app.lineage()) == told.suffix(20))
        }
    }

    @Test func aHistoryMovesAlongAndNothingStaysBehind() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules(.transfer))
            var told = try await store.apply(app.period(token: nil)).entries
            told += try await store.apply(app.period("2", from: 30, to: 60, token: anna)).entries
            let claimed = try await store.claim(
                customer: ben, lineage: app.lineage(), transactionID: "2", at: day(40)
            ).1
            told += try #require(claimed).entries
            let transfers = told.filter { $0.kind == .transfer }.map { [$0.fromCustomer, $0.toCustomer, $0.detail] }
            #expect(transfers == [[nil, anna, "token"], [anna, ben, "claim"]])
            #expect(try await store.history(of: app.lineage()) == told)
            #expect(try await storedHistories(app.lineage(), in: redis).keys.map(\.self) == [.customer(ben)])
        }
    }

    @Test("Invariant 2: whatever interrupts a move, its history is told once and whole", arguments: [false, true])
    func anInterruptedMoveIsToldOnce(afterTheCommand: Bool) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            var number = 0
            while true {
                let app = TestApp()
                let store = LineageStore(redis: redis, rules: app.rules())
                let before = try await store.apply(app.period("1", token: anna)).entries
                let faulty = FaultyRedis(redis, failing: number, afterTheCommand ? .after : .before)
                let move = app.period("2", from: 30, to: 60, token: ben)
                do throws(StoreError) {
                    _ = try await LineageStore(redis: faulty, rules: app.rules()).apply(move)
                } catch { #expect(error.isRetryable) }
                _ = try await store.apply(move, cause: .other, at: day(31))
                let told = try await store.history(of: app.lineage())
                #expect(Array(told.prefix(before.count)) == before, "interrupted at \(number)")
                let transfers = told.count { $0.kind == .transfer && $0.fromCustomer == anna && $0.toCustomer == ben }
                #expect(transfers == 1)
                let news = told.count { $0.kind != .transfer && $0.signedDate == move.signedDate }
                #expect(news == 1)
                #expect(try await storedHistories(app.lineage(), in: redis).count == 1)
                guard faulty.hasFailed else { break }
                number += 1
            }
        }
    }

    @Test("Invariant 2: however many apply at once, each piece of news is told once", arguments: 0..<3)
    func eachPieceOfNewsIsToldOnce(round: Int) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let tokens = [anna, ben, carl]
            let observations = (0..<12).map { number in
                var news = app.period(
                    "\(number)", from: number, to: number + 30, token: round == 0 ? anna : tokens[number % 3])
                news.notificationUUID = "u-\(number)"
                return news
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        var settings = StoreSettings()
                        settings.applyAttempts = 1000
                        for news in observations.shuffled() {
                            while true {
                                let faulty = FaultyRedis(
                                    redis, failing: .random(in: 0..<40), Bool.random() ? .before : .after)
                                let store = LineageStore(redis: faulty, settings: settings, rules: app.rules())
                                do throws(StoreError) {
                                    _ = try await store.apply(news)
                                    break
                                } catch { guard faulty.hasFailed else { throw error } }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let store = LineageStore(redis: redis, rules: app.rules())
            let told = try await store.history(of: app.lineage()).filter { $0.kind != .transfer }
            let named = told.compactMap(\.notificationUUID)
            #expect(named.count == Set(named).count, "\(named)")
            #expect(named.count == observations.count)
        }
    }

    @Test func whoIsMetByAnotherWritesNothingUntilTheNextTry() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            for meeting in 0..<6 {
                let app = TestApp()
                let store = LineageStore(redis: redis, rules: app.rules())
                let first = try await store.apply(app.period(token: anna)).entries
                let other = app.renewal(signed: 2, on: true)
                let met = FaultyRedis(
                    redis, failing: .max, .before,
                    meanwhile: (
                        meeting,
                        { () async throws(RedisError) in
                            do { _ = try await store.apply(other) } catch { Issue.record(error) }
                        }
                    ))
                let mine = app.renewal(signed: 3, on: false)
                _ = try await LineageStore(redis: met, rules: app.rules()).apply(mine)
                let told = try await store.history(of: app.lineage())
                #expect(Array(told.prefix(first.count)) == first)
                let signed = told.dropFirst(first.count).compactMap(\.signedDate)
                // Met after its last command there is nobody to meet.
                #expect(signed == [day(2), day(3)] || (meeting > 4 && signed == [day(3)]), "met at \(meeting)")
            }
        }
    }

    @Test func entriesOfANewerVersionAreLeftOutAndKept() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let metrics = Metrics()
            let store = LineageStore(redis: redis, rules: app.rules(), metrics: metrics)
            let first = try await store.apply(app.period(token: anna)).entries
            let key = StorageLayout.history(of: app.lineage(), holder: .customer(anna), at: app.key(anna).path)
            let newer = #"{"kind":"marvel","at":1}"#
            _ = try await redis.send(["RPUSH", .text(key), .text(newer)])
            let second = try await store.apply(app.period("2", from: 30, token: ben)).entries
            #expect(try await store.history(of: app.lineage()) == first + second)
            #expect(metrics.counter("holdfast_store_history_unreadable_total", "").value == 1)
            let stored = try await storedHistories(app.lineage(), in: redis)[.customer(ben)]
            #expect(stored?.contains(Array(newer.utf8)) == true)
        }
    }

    @Test func aLineageOfAnEarlierVersionBeginsItsHistoryWithTheNextNews() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules())
            _ = try await store.apply(app.period(token: anna))
            // As it was left: no history, and the record of version 1.
            let key = StorageLayout.history(of: app.lineage(), holder: .customer(anna), at: app.key(anna).path)
            _ = try await redis.send(["DEL", .text(key)])
            let old = String(decoding: folded([app.period(token: anna)], app.lineage()).encoded(), as: UTF8.self)
                .replacing("{\"v\":3", with: "{\"v\":1")
            _ = try await redis.send([
                "HSET", .text(StorageLayout.key(app.key(anna).path)), "l:1000", .text("1:\(old)"),
            ])
            #expect(try await store.history(of: app.lineage()).isEmpty)
            let moved = try await store.apply(app.period("2", from: 30, to: 60, token: ben))
            #expect(moved.before?.transactions.count == 1)
            #expect(
                moved.entries.map(\.kind) == [.change, .transfer]
                    || moved.entries.map(\.kind) == [.transition, .transfer])
            #expect(moved.entries.last?.fromCustomer == anna)
            #expect(try await store.history(of: app.lineage()) == moved.entries)
        }
    }
}
