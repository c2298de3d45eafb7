import Entitlements
import Redis
import Synchronization
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite(.timeLimit(.minutes(6)), .everyStore) struct ClaimTests {
    /// What became of claims that were made at once.
    struct Outcomes: Equatable {
        var accepted = 0
        var refused: [ClaimRefusal: Int] = [:]
        var already = 0
    }

    /// Claims the lineage for each customer at once, over several connections.
    private func claimAtOnce(
        _ customers: [String], _ app: TestApp, _ rules: [AppID: StoreRules], _ redis: [any RedisLink]
    ) async throws -> Outcomes {
        try await withThrowingTaskGroup(of: ClaimDecision.self) { group in
            for (number, customer) in customers.enumerated() {
                group.addTask {
                    var settings = StoreSettings()
                    settings.applyAttempts = 1000
                    let store = LineageStore(redis: redis[number % redis.count], settings: settings, rules: rules)
                    return try await store.claim(
                        customer: customer, lineage: app.lineage(), transactionID: "1", at: day(1)
                    ).0
                }
            }
            var outcomes = Outcomes()
            for try await decision in group {
                switch decision {
                case .accepted: outcomes.accepted += 1
                case .alreadyTheirs: outcomes.already += 1
                case .refused(let refusal): outcomes.refused[refusal, default: 0] += 1
                }
            }
            return outcomes
        }
    }

    private func withClients(_ body: ([any RedisLink]) async throws -> Void) async throws {
        let server = try await TestStore.shared()
        try await withRedis(server) { a in
            try await withRedis(server) { b in try await withRedis(server) { c in try await body([a, b, c]) } }
        }
    }

    @Test("Invariant 6: of all who claim a lineage at once, one gets it under keep", arguments: 0..<4)
    func oneGetsItUnderKeep(round: Int) async throws {
        try await withClients { redis in
            let app = TestApp()
            _ = try await LineageStore(redis: redis[0]).apply(app.period(token: nil))
            let customers = (0..<12).map { "customer-\($0)" }
            let outcomes = try await claimAtOnce(customers, app, app.rules(.keep), redis)
            #expect(outcomes == Outcomes(accepted: 1, refused: [.heldByAnother: 11]))
            let found = try #require(try await LineageStore(redis: redis[0]).find(app.lineage()))
            #expect(found.holders.count == 1)
            // Nothing is left of those that were refused.
            #expect(found.record.claims.map(\.customer) == found.holders.compactMap(\.customer))
            let holder = try #require(found.holder.customer)
            #expect(try await StoredState.of(app.lineage(), in: redis[0]) == StoredState(found.record, of: holder))
        }
    }

    @Test("Invariant 6: under transfer a lineage moves no more often than the limit, however many claim it at once")
    func theLimitHoldsUnderTransfer() async throws {
        try await withClients { redis in
            let app = TestApp()
            let rules = app.rules(.transfer, limit: 3)
            let store = LineageStore(redis: redis[0], rules: rules)
            _ = try await store.apply(app.period(token: nil))
            let outcomes = try await claimAtOnce((0..<12).map { "customer-\($0)" }, app, rules, redis)
            // The first has it from nobody, which is no move.
            #expect(outcomes == Outcomes(accepted: 4, refused: [.tooManyTransfers: 8]))
            let found = try #require(try await store.find(app.lineage()))
            let holder = try #require(found.holder.customer)
            #expect(found.record.claims.last?.customer == holder)
            #expect(try await StoredState.of(app.lineage(), in: redis[0]) == StoredState(found.record, of: holder))
            let transfers = try await store.history(of: app.lineage()).filter { $0.kind == .transfer }
            #expect(transfers.map(\.toCustomer) == found.record.claims.map(\.customer))
            #expect(transfers.map(\.fromCustomer) == [nil] + found.record.claims.dropLast().map(\.customer))

            let window = try await store.claim(
                customer: "late", lineage: app.lineage(), transactionID: "1", at: day(40))
            check(window.0.isAccepted, "after the window it may move again")
        }
    }

    @Test(
        "Invariant 6: who claims it while Redis has lost its data has it no longer than until the older claim is back")
    func theOlderClaimComesBackAfterALoss() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules(.keep))
            func claim(_ customer: String, _ instant: Timestamp) async throws -> ClaimDecision {
                try await store.claim(customer: customer, lineage: app.lineage(), transactionID: "1", at: instant).0
            }
            _ = try await store.apply(app.period(token: nil))
            check(try await claim(anna, day(1)).isAccepted)
            let known = try #require(try await store.find(app.lineage())).record
            let lost = [
                StorageLayout.locator(of: app.lineage()), StorageLayout.key(app.key(anna).path),
                StorageLayout.history(of: app.lineage(), holder: .customer(anna), at: app.key(anna).path),
            ]
            for key in lost { _ = try await redis.send(["DEL", .text(key)]) }
            _ = try await store.apply(app.period(token: nil))
            check(try await claim(ben, day(2)).isAccepted)

            let older = try #require(known.claims.first)
            _ = try await store.apply(
                Observation(lineage: app.lineage(), source: .device, signedDate: day(1), claim: older))
            let found = try #require(try await store.find(app.lineage()))
            #expect(found.holders == [.customer(anna)])
            #expect(try await StoredState.of(app.lineage(), in: redis) == StoredState(found.record, of: anna))
            #expect(try await claim(ben, day(3)) == .refused(.heldByAnother))
        }
    }

    @Test("Invariant 6: under share all get it who claim it at once, up to the bound")
    func allGetItUnderShare() async throws {
        try await withClients { redis in
            let app = TestApp()
            let rules = app.rules(.share)
            let store = LineageStore(redis: redis[0], rules: rules)
            _ = try await store.apply(app.period(token: nil))
            let customers = (0..<20).map { "customer-\($0)" }
            let outcomes = try await claimAtOnce(customers, app, rules, redis)
            #expect(outcomes == Outcomes(accepted: 16, refused: [.tooManyCustomers: 4]))
            let found = try #require(try await store.find(app.lineage()))
            #expect(found.holders.count == 16)
            let state = try await StoredState.of(app.lineage(), in: redis[0])
            #expect(state.records.count == 16)
            check(state.records.values.allSatisfy { $0 == found.record.encoded() })
            #expect(Set(state.records.keys) == Set(found.holders))
            #expect(state.suspects.isEmpty && !state.hasNews)
            for customer in customers {
                let records = try await store.records(of: app.key(customer))
                #expect(records.count == (found.holders.contains(.customer(customer)) ? 1 : 0))
            }
        }
    }

    @Test func underTransferIfInactiveItMovesOnceItGivesNoAccess() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules(.transferIfInactive))
            _ = try await store.apply(app.period(token: anna))
            _ = try await store.apply(app.renewal(signed: 1, on: false))
            func claim(at instant: Timestamp) async throws -> ClaimDecision {
                try await store.claim(customer: ben, lineage: app.lineage(), transactionID: "1", at: instant).0
            }
            #expect(try await claim(at: day(2)) == .refused(.stillActive))
            check(try await claim(at: day(31)).isAccepted)
            #expect(try await claim(at: day(31)) == .alreadyTheirs)
            // The token that was there before does not take it back.
            let later = try await store.apply(app.period("2", from: 60, to: 90, token: anna))
            #expect(later.holders == [.customer(ben)])
        }
    }

    @Test func anOperatorInsistsPastThePolicy() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules(.keep))
            _ = try await store.apply(app.period(token: anna))
            let refused = try await store.claim(
                customer: ben, lineage: app.lineage(), transactionID: "1", at: day(1))
            #expect(refused.0 == .refused(.heldByAnother))
            #expect(refused.1 == nil)
            let (decision, change) = try await store.claim(
                customer: ben, lineage: app.lineage(), transactionID: "1", at: day(1), isForced: true)
            check(decision.isAccepted)
            #expect(change?.gained == [ben])
            #expect(change?.lost == [anna])
            #expect(change?.entries.map(\.kind) == [.transfer])
            #expect(change?.entries.first?.detail == "forced")
            #expect(try await store.history(of: app.lineage()).last?.detail == "forced")
            let again = try await store.claim(customer: ben, lineage: app.lineage(), transactionID: "1", at: day(2))
            #expect(again.0 == .alreadyTheirs)
            #expect(again.1?.changed == false)
            // Whoever was interrupted before the claim was in the ledger finds it here.
            #expect(again.1?.after.claims.map(\.customer) == [ben])
        }
    }

    @Test func aTrialDecidesAndWritesNothing() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules(.keep))
            func attempt(_ observation: Observation) async throws -> (ClaimDecision, AppliedChange?) {
                try await store.claim(
                    customer: ben, lineage: app.lineage(), transactionID: "1", at: day(1), dryRun: true,
                    seeing: observation)
            }
            #expect(try await attempt(app.period(token: anna)).0 == .refused(.heldByAnother))
            let (decision, change) = try await attempt(app.period(token: nil))
            check(decision.isAccepted)
            #expect(change == nil)
            #expect(try await StoredState.of(app.lineage(), in: redis) == StoredState())
        }
    }

    @Test func aClockThatIsBehindTheLastClaimDoesNotLose() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules(.transfer))
            _ = try await store.apply(app.period(token: nil))
            _ = try await store.claim(customer: anna, lineage: app.lineage(), transactionID: "1", at: day(5))
            let (decision, change) = try await store.claim(
                customer: ben, lineage: app.lineage(), transactionID: "1", at: day(4))
            check(decision.isAccepted)
            #expect(change?.holders == [.customer(ben)])
        }
    }

    @Test(
        "Invariant 2: a claim that was interrupted anywhere is taken up by whoever comes next",
        arguments: [
            TransferPolicy.keep, .transfer, .share,
        ])
    func aClaimThatWasInterruptedIsTakenUp(policy: TransferPolicy) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            for (fault, other) in [(FaultyRedis.Fault.before, false), (.after, false), (.before, true), (.after, true)]
            {
                var number = 0
                while true {
                    let app = TestApp()
                    let rules = app.rules(policy)
                    let store = LineageStore(redis: redis, rules: rules)
                    let first = app.period(token: policy == .keep ? nil : anna)
                    _ = try await store.apply(first)
                    let faulty = FaultyRedis(redis, failing: number, fault)
                    do throws(StoreError) {
                        _ = try await LineageStore(redis: faulty, rules: rules).claim(
                            customer: ben, lineage: app.lineage(), transactionID: "1", at: day(1))
                    } catch { #expect(error.isRetryable) }
                    // Whether it was accepted must not depend on who looks next.
                    let between = try await store.find(app.lineage())
                    let wasAccepted = between?.record.claims.isEmpty == false
                    if other { _ = try await store.apply(app.renewal(signed: 2)) }
                    let again = try await store.claim(
                        customer: ben, lineage: app.lineage(), transactionID: "1", at: day(3)
                    ).0
                    #expect(again == .alreadyTheirs || (!wasAccepted && again.isAccepted), "\(number) \(fault)")
                    let found = try #require(try await store.find(app.lineage()))
                    #expect(found.record.claims.map(\.customer) == [ben])
                    let customers = policy == .share ? [anna, ben] : [ben]
                    var expected = StoredState(found.record, of: customers[0])
                    if policy == .share { expected = StoredState(found.record, of: anna, ben) }
                    #expect(try await StoredState.of(app.lineage(), in: redis) == expected)
                    let histories = try await storedHistories(app.lineage(), in: redis)
                    #expect(Set(histories.keys) == Set(found.holders))
                    #expect(Set(histories.values).count == 1)
                    let entries = try await store.history(of: app.lineage())
                    let transfers = entries.count { $0.kind == .transfer && $0.toCustomer == ben }
                    #expect(transfers == 1)
                    guard faulty.hasFailed else { break }
                    number += 1
                }
                #expect(number > 8)
            }
        }
    }

    @Test(
        "Invariant 6: two claims that meet anywhere are decided one after the other",
        arguments: [
            TransferPolicy.keep, .transfer,
        ])
    func twoClaimsThatMeetAreDecidedOneAfterTheOther(policy: TransferPolicy) async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            for meeting in 0..<16 {
                let app = TestApp()
                let rules = app.rules(policy, limit: 1)
                let store = LineageStore(redis: redis, rules: rules)
                _ = try await store.apply(app.period(token: policy == .keep ? nil : anna))
                let other = Mutex<ClaimDecision?>(nil)
                let met = FaultyRedis(
                    redis, failing: .max, .before,
                    meanwhile: (
                        meeting,
                        { () async throws(RedisError) in
                            do {
                                let decision = try await store.claim(
                                    customer: carl, lineage: app.lineage(), transactionID: "1", at: day(1)
                                ).0
                                other.withLock { $0 = decision }
                            } catch { Issue.record(error) }
                        }
                    ))
                let mine = try await LineageStore(redis: met, rules: rules).claim(
                    customer: ben, lineage: app.lineage(), transactionID: "1", at: day(1)
                ).0
                guard let theirs = other.withLock({ $0 }) else { break }
                #expect(mine.isAccepted != theirs.isAccepted, "met at \(meeting)")
                let winner = mine.isAccepted ? ben : carl
                let found = try #require(try await store.find(app.lineage()))
                #expect(found.record.claims.map(\.customer) == [winner])
                #expect(try await StoredState.of(app.lineage(), in: redis) == StoredState(found.record, of: winner))
            }
        }
    }

    @Test("Invariant 3: claims that were decided elsewhere fold in any order to the same")
    func decidedClaimsFoldInAnyOrder() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            for policy in TransferPolicy.allCases {
                let news = TestApp()
                let observations = [
                    news.period(token: nil), news.period(token: nil).claimed(by: anna, on: day(1)),
                    news.period(token: nil).claimed(by: ben, on: day(2)), news.renewal(signed: 3),
                    news.period("2", from: 30, to: 60, token: carl),
                ]
                for _ in 0..<4 {
                    let app = TestApp()
                    let store = LineageStore(redis: redis, rules: app.rules(policy))
                    var expected = LineageRecord(lineage: app.lineage())
                    for observation in observations.shuffled() {
                        var mine = observation
                        mine.lineage = app.lineage()
                        expected.fold(mine)
                        _ = try await store.apply(mine)
                        _ = try await store.apply(mine)
                    }
                    var state = StoredState()
                    state.holders = expected.customers(under: policy).map { .customer($0) }
                    for holder in state.holders { state.records[holder] = expected.encoded() }
                    #expect(try await StoredState.of(app.lineage(), in: redis) == state)
                }
            }
        }
    }

    @Test("Invariant 7: a claim in one environment gives nothing in the other")
    func aClaimStaysInItsEnvironment() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let app = TestApp()
            let store = LineageStore(redis: redis, rules: app.rules())
            _ = try await store.apply(app.period(of: app.lineage("1000", .sandbox), token: nil))
            _ = try await store.apply(app.period(token: nil))
            _ = try await store.claim(
                customer: anna, lineage: app.lineage("1000", .sandbox), transactionID: "1", at: day(1))
            #expect(try await store.records(of: app.key(anna, .sandbox)).count == 1)
            #expect(try await store.records(of: app.key(anna)).isEmpty)
            #expect(try await store.find(app.lineage())?.holder == .unclaimed("1000"))
            #expect(try await store.unclaimedCount(app.id, .sandbox) == 0)
            #expect(try await store.unclaimedCount(app.id, .production) == 1)
        }
    }
}

extension ClaimDecision {
    var isAccepted: Bool {
        if case .accepted = self { true } else { false }
    }
}
