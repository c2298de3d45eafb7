import Entitlements
import Redis
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite(.timeLimit(.minutes(6)), .everyServer) struct ShareTests {
    /// A lineage that anna has by its token and ben by a claim.
    private func shared(_ app: TestApp, _ redis: any RedisLink) async throws -> LineageStore {
        let store = LineageStore(redis: redis, rules: app.rules(.share))
        _ = try await store.apply(app.period(token: anna))
        let (decision, change) = try await store.claim(
            customer: ben, lineage: app.lineage(), transactionID: "1", at: day(1))
        check(decision.isAccepted)
        #expect(change?.gained == [ben])
        #expect(change?.lost == [])
        #expect(change?.holders == [.customer(anna), .customer(ben)])
        return store
    }

    @Test func everyCopyIsKeptUpToDateAndAnnounced() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = try await shared(app, redis)
            let change = try await store.apply(app.renewal(signed: 2, on: false))
            #expect(try await StoredState.of(app.lineage(), in: redis) == StoredState(change.after, of: anna, ben))
            #expect(change.gained.isEmpty && change.lost.isEmpty)
            for customer in [anna, ben] {
                let path = app.key(customer).path
                let entries =
                    try await redis.send([
                        "XRANGE", .text(StorageLayout.changeStream(ofPath: path)), "-", "+",
                    ]).array ?? []
                let last = entries.last { $0.array?.last?.array?[1].string == path }
                #expect(last?.array?.last?.array?[3].string == "\(change.revisions[.customer(customer)] ?? 0)")
                #expect(try await store.records(of: app.key(customer)) == [change.after])
            }
            let histories = try await storedHistories(app.lineage(), in: redis)
            #expect(histories[.customer(anna)] == histories[.customer(ben)])
            #expect(try await !store.apply(app.renewal(signed: 2, on: false)).changed)
        }
    }

    @Test(
        "Invariant 2: an apply that was interrupted between two sharers is mended by the next",
        arguments: [false, true])
    func anInterruptedApplyIsMended(afterTheCommand: Bool) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            var number = 0
            while true {
                let app = TestApp()
                let store = try await shared(app, redis)
                let news = app.renewal(signed: 2, on: false)
                let faulty = FaultyRedis(redis, failing: number, afterTheCommand ? .after : .before)
                do throws(StoreError) {
                    _ = try await LineageStore(redis: faulty, rules: app.rules(.share)).apply(news)
                } catch { #expect(error.isRetryable) }
                let again = try await store.apply(news)
                #expect(again.after.renewal == news.renewal)
                #expect(try await StoredState.of(app.lineage(), in: redis) == StoredState(again.after, of: anna, ben))
                let histories = try await storedHistories(app.lineage(), in: redis)
                #expect(histories[.customer(anna)] == histories[.customer(ben)])
                let told = try await store.history(of: app.lineage()).count { $0.signedDate == news.signedDate }
                #expect(told == 1)
                guard faulty.hasFailed else { break }
                number += 1
            }
            // The layout, the locator, two copies, the last entry, two writes.
            #expect(number == 7)
        }
    }

    @Test("Invariant 6: once the policy is another, one customer has it with the next news")
    func anotherPolicyMovesItWithTheNextNews() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let sharing = try await shared(app, redis)
            let keeping = LineageStore(redis: redis, rules: app.rules(.keep))
            // Even with news that changes nothing else.
            let change = try await keeping.apply(app.period(token: anna))
            #expect(change.changed)
            #expect(change.holders == [.customer(ben)])
            #expect(change.lost == [anna])
            let told = change.entries.map { [$0.kind.rawValue, $0.fromCustomer, $0.toCustomer, $0.detail] }
            #expect(told == [["transfer", anna, nil, "policy"]])
            #expect(try await StoredState.of(app.lineage(), in: redis) == StoredState(change.after, of: ben))
            #expect(try await keeping.records(of: app.key(anna)).isEmpty)
            #expect(try await storedHistories(app.lineage(), in: redis).keys.map(\.self) == [.customer(ben)])

            let back = try await sharing.apply(app.period(token: anna))
            #expect(back.gained == [anna])
            #expect(try await StoredState.of(app.lineage(), in: redis) == StoredState(back.after, of: anna, ben))
        }
    }

    @Test(
        "Invariant 2: a change of policy that was interrupted anywhere is finished by the next news",
        arguments: [
            false, true,
        ])
    func anInterruptedChangeOfPolicyIsFinished(afterTheCommand: Bool) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            var number = 0
            while true {
                let app = TestApp()
                _ = try await shared(app, redis)
                let faulty = FaultyRedis(redis, failing: number, afterTheCommand ? .after : .before)
                do throws(StoreError) {
                    _ = try await LineageStore(redis: faulty, rules: app.rules(.keep)).apply(app.renewal(signed: 3))
                } catch { #expect(error.isRetryable) }
                let between = try await StoredState.of(app.lineage(), in: redis)
                check(between.records[.customer(ben)] != nil)
                let keeping = LineageStore(redis: redis, rules: app.rules(.keep))
                let last = try await keeping.apply(app.renewal(signed: 3))
                #expect(try await StoredState.of(app.lineage(), in: redis) == StoredState(last.after, of: ben))
                let told = try await keeping.history(of: app.lineage())
                let lost = told.count { $0.kind == .transfer && $0.fromCustomer == anna }
                #expect(lost == 1)
                guard faulty.hasFailed else { break }
                number += 1
            }
        }
    }

    @Test("Invariant 3: whoever applies, claims and crashes, all sharers end with the fold of all", arguments: 0..<4)
    func sharersConverge(round: Int) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let observations = (0..<12).map { number in
                number % 3 == 0
                    ? app.period("1", signed: 0, token: anna).claimed(by: "sharer-\(number)", on: day(number))
                    : app.renewal(signed: number, on: number % 2 == 0)
            }
            var settings = StoreSettings()
            settings.applyAttempts = 1000
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<5 {
                    group.addTask { [settings] in
                        for news in observations.shuffled() {
                            while true {
                                let faulty = FaultyRedis(
                                    redis, failing: .random(in: 0..<60), Bool.random() ? .before : .after)
                                let store = LineageStore(redis: faulty, settings: settings, rules: app.rules(.share))
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
            let expected = folded(observations, app.lineage())
            var state = StoredState()
            state.holders = Holder.all(of: expected, under: .share)
            for holder in state.holders { state.records[holder] = expected.encoded() }
            #expect(state.holders.count == 5)
            #expect(try await StoredState.of(app.lineage(), in: redis) == state)
        }
    }

    @Test func aCustomerWhoLosesAShareReadsNothing() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let server = try await TestStore.shared()
            let app = TestApp()
            let store = try await shared(app, redis)
            try await withCache(server, app) { cache in
                check(try await eventually { cache.isLive })
                for customer in [anna, ben] {
                    let answer = try await cache.load(app.key(customer), at: day(1))
                    #expect(answer.evaluation.entitlements.map(\.id) == ["basic"])
                }
                let keeping = LineageStore(redis: redis, rules: app.rules(.keep))
                _ = try await keeping.apply(app.period(token: anna))
                check(
                    try await eventually {
                        cache.answer(for: app.key(anna), at: day(1))?.evaluation.entitlements.isEmpty == true
                    })
                #expect(try await cache.load(app.key(ben), at: day(1)).evaluation.entitlements.count == 1)
                _ = try await store.history(of: app.lineage())
            }
        }
    }
}
