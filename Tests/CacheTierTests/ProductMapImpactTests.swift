import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import CacheTier

/// What a dry run says, and whom a recomputation tells, of a population that is known.
@Suite(.everyServer) struct ProductMapImpactTests {
    private let app = TestApp()

    /// What `basic`, `pro` and `old` give before, and what after: `old` is dropped, `basic` gives `extra` besides, `pro` no
    /// longer gives `basic`.
    private let before = ProductMap(
        version: "0",
        products: [
            "basic": .init(entitlements: ["basic"]), "pro": .init(entitlements: ["basic", "pro"]),
            "old": .init(entitlements: ["basic"]),
            "pass": .init(entitlements: ["pass"], duration: .seconds(86_400 * 30)),
        ])
    private let after = ProductMap(
        version: "1",
        products: [
            "basic": .init(entitlements: ["basic", "extra"]), "pro": .init(entitlements: ["pro"]),
            "pass": .init(entitlements: ["pass"], duration: .seconds(86_400 * 60)),
        ])

    private func customer(_ number: Int) -> String {
        let digits = String(number)
        return "00000000-0000-4000-8000-\(String(repeating: "0", count: 12 - digits.count))\(digits)"
    }

    private func pass(_ lineage: LineageID, token: String) -> Observation {
        Observation(
            lineage: lineage, source: .notification, signedDate: day(0),
            transaction: TransactionFact(
                transactionID: "1", originalTransactionID: lineage.originalTransactionID, productID: "pass",
                signedDate: day(0), purchaseDate: day(0), type: "Non-Renewing Subscription", appAccountToken: token,
                ownership: "PURCHASED", payloadHash: "pass"))
    }

    /// Production: 10 with basic, 4 with pro, 3 with old, 2 whose basic has ended, 1 with a pass, 1 with a product that
    /// nobody knows, one unclaimed lineage of `old`, and one who had `old` before `pro`. Sandbox: 5 with basic.
    private func populate(_ redis: any RedisLink, _ app: TestApp) async throws {
        let store = LineageStore(redis: redis)
        var number = 0
        func buy(
            _ count: Int, _ product: String, _ environment: StoreEnvironment = .production, to: Int = 30,
            claimed: Bool = true
        ) async throws {
            for _ in 0..<count {
                number += 1
                _ = try await store.apply(
                    app.period(
                        of: app.lineage("\(number)", environment), to: to, product: product,
                        token: claimed ? customer(number) : nil))
            }
        }
        try await buy(10, "basic")
        try await buy(4, "pro")
        try await buy(3, "old")
        try await buy(2, "basic", to: 2)
        try await buy(1, "nobody.knows")
        try await buy(1, "old", claimed: false)
        try await buy(5, "basic", .sandbox)
        _ = try await store.apply(pass(app.lineage("900"), token: customer(900)))
        for (transaction, product, from) in [("1", "old", 0), ("2", "pro", 1)] {
            _ = try await store.apply(
                app.period(
                    transaction, of: app.lineage("901"), from: from, to: 30, product: product, token: customer(901)))
        }
    }

    private func impact(_ redis: any RedisLink, _ app: TestApp, samples: Int = 3) async throws -> ProductMapImpact {
        var impact = ProductMapImpact(from: before, to: after, policy: .standard, at: day(5), samples: samples)
        // A few keys at a time, so that there are many batches.
        try await impact.count(app.id, HolderScan(redis: redis, app: app.id, keysAtOnce: 5)) { _ in }
        return impact
    }

    @Test func aDryRunCountsWhoGainsAndLosesWhat() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            let production = try await impact(redis, app)[.production]
            #expect(production.customers == 22)
            #expect(production.unclaimed == 1)
            #expect(production.lineages == 23)
            // 10 gain extra; 4 + 1 lose basic for pro; 3 lose basic with old; the pass lasts longer.
            #expect(production.gained == 10)
            #expect(production.lost == 8)
            let extra = try #require(production.entitlements["extra"])
            #expect(extra.gain.count == 10)
            #expect(extra.gain.samples.count == 3)
            #expect(Set(extra.gain.samples).isSubset(of: Set((1...10).map(customer))))
            #expect(extra.lose.count == 0)
            #expect(production.entitlements["basic"]?.lose.count == 8)
            #expect(production.entitlements["basic"]?.gain.count == 0)
            #expect(production.entitlements["pro"] == nil)
            #expect(production.entitlements["pass"]?.otherEnd.count == 1)
            #expect(production.entitlements["pass"]?.otherEnd.samples == [customer(900)])
            // Besides those: the two whose basic has ended had no extra, and are told now that it ended, too.
            #expect(production.changed == 10 + 8 + 1 + 2)
            // One that nobody knew before; and now also three and the unclaimed one with old.
            #expect(production.unmappedBefore == 1)
            #expect(production.unmappedAfter == 5)
            #expect(production.unmappedProducts == ["old": 4, "nobody.knows": 1])
            // The one who had it before pro carries it, too.
            #expect(production.dropped == ["old": 5])
        }
    }

    @Test("Invariant 7: a dry run counts sandbox apart") func aDryRunCountsSandboxApart() async throws {
        let app = TestApp("apart")
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            let impact = try await impact(redis, app, samples: 100)
            let sandbox = impact[.sandbox]
            #expect(sandbox.customers == 5)
            #expect(sandbox.lineages == 5)
            #expect(sandbox.gained == 5)
            #expect(sandbox.lost == 0)
            #expect(sandbox.unmappedAfter == 0)
            let inSandbox = Set(sandbox.entitlements["extra"]?.gain.samples ?? [])
            #expect(inSandbox.count == 5)
            #expect(inSandbox.isDisjoint(with: impact[.production].entitlements["extra"]?.gain.samples ?? []))
        }
    }

    @Test func otherAppsAreNotCounted() async throws {
        let (app, other) = (TestApp("a"), TestApp("b"))
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, other)
            #expect(try await impact(redis, app).parts.isEmpty)
        }
    }

    // MARK: Recomputing

    /// Remembers who was told, and fails from a number on.
    private final class Audience: Sendable {
        private let state = Mutex<(told: [ProductMapChange], limit: Int?)>(([], nil))
        struct Deaf: Error {}

        init(failingAfter limit: Int? = nil) { state.withLock { $0.limit = limit } }

        var told: [ProductMapChange] { state.withLock { $0.told } }

        func hear(_ change: ProductMapChange) throws {
            try state.withLock { state in
                if let limit = state.limit, state.told.count >= limit { throw Deaf() }
                state.told.append(change)
            }
        }
    }

    private func recomputer(
        _ redis: any RedisLink, leaseTime: Duration = .seconds(30), _ announce: @escaping ProductMapRecomputer.Announce
    ) -> ProductMapRecomputer {
        var settings = ProductMapSettings()
        settings.followEvery = .milliseconds(1)
        return ProductMapRecomputer(
            redis: redis, settings: settings, clock: WallClock { day(5) }, keysAtOnce: 5, leaseTime: leaseTime,
            announce: announce)
    }

    private func publishAfter(_ app: TestApp, _ redis: any RedisLink) async throws {
        _ = try await ProductMapStore(redis: redis).publish(
            ProductMapDocument(products: after.products), for: app.id, expecting: 0,
            first: ProductMapDocument(products: before.products), by: "tests", comment: "", at: day(5))
    }

    private func expectCounts(_ state: Recomputation) {
        #expect(state.isDone)
        #expect(state[.production].customers == 22)
        #expect(state[.production].changed == 21)
        #expect(state[.production].gained == 10)
        #expect(state[.production].lost == 8)
        #expect(state[.sandbox].customers == 5)
        #expect(state[.sandbox].changed == 5)
    }

    @Test(.alsoOnCluster) func everybodyWhoseAnswerIsAnotherOneIsToldOnce() async throws {
        let (app, audience) = (TestApp("told"), Audience())
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            try await publishAfter(app, redis)
            let recomputer = recomputer(redis) { try audience.hear($0) }
            guard case .done(let states) = try await recomputer.run(app.id, policy: .standard) else {
                Issue.record("busy")
                return
            }
            expectCounts(try #require(states.first))
            #expect(audience.told.count == 26)
            let told = Set(audience.told.map { "\($0.environment) \($0.customer)" })
            #expect(told.count == 26)
            check(!told.contains("production \(customer(20))"), "the product that nobody knows changes nothing")
            // It is done with, and the products that are known to nobody now stand in the list.
            #expect(try await recomputer.run(app.id, policy: .standard) == .done([]))
            let unmapped = try await UnmappedProducts(redis: redis).list(of: app.id, notIn: after).0
            #expect(Set(unmapped.map(\.productID)) == ["old", "nobody.knows"])
        }
    }

    @Test(.alsoOnCluster) func anInterruptedRecomputationGoesOnWhereItWas() async throws {
        let app = TestApp("interrupted")
        let (first, second) = (Audience(failingAfter: 9), Audience())
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            try await publishAfter(app, redis)
            do throws(ProductMapRecomputer.Failure) {
                _ = try await recomputer(redis) { try first.hear($0) }.run(app.id, policy: .standard)
                Issue.record("nobody was deaf")
            } catch {
                guard case .notAnnounced = error else {
                    Issue.record("\(error)")
                    return
                }
            }
            let left = try await recomputer(redis) { _ in }.unfinished(app.id)
            #expect(left?.isDone == false)
            let outcome = try await recomputer(redis) { try second.hear($0) }.run(app.id, policy: .standard)
            guard case .done(let states) = outcome else {
                Issue.record("busy")
                return
            }
            // Counted once, whoever counted; told at least once.
            expectCounts(try #require(states.first))
            let told = Set((first.told + second.told).map { "\($0.environment) \($0.customer)" })
            #expect(told.count == 26)
        }
    }

    @Test func afterARestartOfRedisItBeginsAnewBecauseTheOldPlaceMeansNothing() async throws {
        let app = TestApp("restarted")
        let (first, second) = (Audience(failingAfter: 9), Audience())
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                try await populate(redis, app)
                try await publishAfter(app, redis)
                _ = try? await recomputer(redis) { try first.hear($0) }.run(app.id, policy: .standard)
                #expect(first.told.count == 9)
                try await server.kill()
                try await server.start()
                check(try await eventually { redis.isConnected })
                let outcome = try await recomputer(redis) { try second.hear($0) }.run(app.id, policy: .standard)
                guard case .done(let states) = outcome else {
                    Issue.record("busy")
                    return
                }
                expectCounts(try #require(states.first))
                check(Set(second.told.map { "\($0.environment) \($0.customer)" }).count == 26)
            }
        }
    }

    @Test func oneRecomputesAtATimeAndWhoFellAsleepLosesItsTurn() async throws {
        let app = TestApp("lease")
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            try await publishAfter(app, redis)
            let inner = Mutex<ProductMapRecomputer.Outcome?>(nil)
            let (slow, other) = (Audience(), Audience())
            let second = recomputer(redis) { try other.hear($0) }
            // While the first is at it, the second finds it busy; once the lease has run out, the second takes over.
            let isFirst = Mutex(true)
            let first = recomputer(redis) { change in
                try slow.hear(change)
                guard
                    isFirst.withLock({ first in
                        defer { first = false }; return first
                    })
                else { return }
                let outcome = try await second.run(app.id, policy: .standard)
                inner.withLock { $0 = outcome }
                _ = try await redis.send(["DEL", .text(StorageLayout.recomputeLease(of: app.id))])
                _ = try await second.run(app.id, policy: .standard)
            }
            do throws(ProductMapRecomputer.Failure) {
                _ = try await first.run(app.id, policy: .standard)
                Issue.record("it did not notice that it lost its turn")
            } catch {
                guard case .leaseLost = error else {
                    Issue.record("\(error)")
                    return
                }
            }
            guard case .busy = inner.withLock({ $0 }) else {
                Issue.record("both were at it")
                return
            }
            #expect(Set(other.told.map(\.customer)).count == 26)
        }
    }

    @Test func mapsThatFollowEachOtherAreToldOfInTheirOrder() async throws {
        let (app, audience) = (TestApp("order"), Audience())
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            try await publishAfter(app, redis)
            _ = try await ProductMapStore(redis: redis).publish(
                ProductMapDocument(products: before.products), for: app.id, expecting: 1,
                first: ProductMapDocument(products: [:]), by: "tests", comment: "back", at: day(5))
            let outcome = try await recomputer(redis) { try audience.hear($0) }.run(app.id, policy: .standard)
            guard case .done(let states) = outcome else {
                Issue.record("busy")
                return
            }
            #expect(states.map(\.version) == [1, 2])
            #expect(audience.told.map(\.version) == audience.told.map(\.version).sorted())
            #expect(audience.told.count == 52)
            #expect(states.last?[.production].gained == 8)
            // What was dropped in between is known again.
            let unmapped = try await UnmappedProducts(redis: redis).list(of: app.id, notIn: ProductMap()).0
            #expect(unmapped.map(\.productID) == ["nobody.knows"])
        }
    }

    @Test func everyKeyIsWalkedOverOnceAndTheWayIsMeasured() async throws {
        let app = TestApp("walk")
        try await withRedis(try await TestStore.shared()) { redis in
            try await populate(redis, app)
            var scan = HolderScan(redis: redis, app: app.id, keysAtOnce: 1)
            var cursor = HolderScan.beginning
            var (seen, fractions): ([String], [Double]) = ([], [])
            repeat {
                let batch = try await scan.batch(after: cursor)
                seen += batch.found.map { "\($0.environment) \($0.holder)" }
                cursor = batch.cursor
                if !batch.isLast { fractions.append(HolderScan.fraction(at: cursor)) }
            } while cursor != HolderScan.beginning
            #expect(seen.count == 28)
            #expect(Set(seen).count == 28)
            check(fractions.allSatisfy { 0 < $0 && $0 < 1 })
            #expect(HolderScan.fraction(at: "0") == 0)
        }
    }
}
