import AppStore
import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite("Drift in the store", .everyStore, .timeLimit(.minutes(6))) struct DriftStoreTests {
    private static let noon = Timestamp(milliseconds: 1_764_000_000_000)

    private func drift(_ number: Int, of app: AppID, _ cause: Drift.Cause? = nil) -> Drift {
        let lineage = LineageID(app: app, environment: .production, originalTransactionID: "\(number)")
        let difference = Drift.Difference(
            .status, ours: "1", apples: "2", tellers: [.expired], since: Self.noon, cause: cause)
        return Drift(
            id: "answer:\(number)", lineage: lineage, transactionID: "\(number)", purpose: .reconcile,
            foundAt: Self.noon + .seconds(number), differences: [difference], before: .active, after: .expired)
    }

    private func store(_ redis: any RedisCommands, kept: Int = 100) -> DriftStore {
        var settings = DriftSettings()
        settings.kept = kept
        return DriftStore(redis: redis, settings: settings)
    }

    @Test func oneConsumerExaminesAtATimeAndADeadOnesWorkIsTakenByOthers() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let (store, app) = (store(redis), AppID(RedisServer.uniqueApp("drift")))
            let due = Self.noon + .seconds(600)
            for number in 1...3 { try await store.note(drift(number, of: app), due: due + .seconds(number)) }
            let again = try await store.note(drift(1, of: app), due: Self.noon)
            #expect(!again)
            let lease = Duration.seconds(60)
            let before = try await store.take(app, .production, at: due, limit: 8, lease: lease)
            #expect(before.isEmpty)
            let now = due + .seconds(2)
            let first = try await store.take(app, .production, at: now, limit: 8, lease: lease)
            #expect(first == [drift(1, of: app), drift(2, of: app)])
            let meanwhile = try await store.take(app, .production, at: now + .seconds(59), limit: 8, lease: lease)
            #expect(meanwhile == [drift(3, of: app)])
            // Nothing was heard of whoever took them.
            let later = try await store.take(app, .production, at: now + .seconds(60), limit: 1, lease: lease)
            #expect(later == [drift(1, of: app)])
            #expect(try await store.openCount(app, .production) == 3)
            #expect(try await store.openCount(app, .sandbox) == 0)
        }
    }

    @Test func eachIsCountedOnceByItsCause() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let (store, app) = (store(redis), AppID(RedisServer.uniqueApp("drift")))
            for number in 1...3 { try await store.note(drift(number, of: app), due: Self.noon) }
            try await store.putOff(drift(3, of: app), until: Self.noon + .seconds(900))
            let (late, lost) = (drift(1, of: app, .late), drift(2, of: app, .undelivered))
            #expect(try await store.settle(late))
            #expect(try await store.settle(lost))
            #expect(try await !store.settle(late))
            let counts = try await store.counts(app, .production)
            #expect(
                counts == [
                    DriftStore.Count(field: .status, cause: .late, count: 1),
                    DriftStore.Count(field: .status, cause: .undelivered, count: 1),
                ])
            let listed = try await store.list(app, .production, limit: 2)
            #expect(listed == [drift(3, of: app), lost])
            #expect(try await store.openCount(app, .production) == 1)
            let open = try await store.take(app, .production, at: Self.noon, limit: 8, lease: .seconds(1))
            #expect(open.isEmpty)
        }
    }

    @Test("Invariant 10: the oldest go when there are more than are kept")
    func theOldestGo() async throws {
        try await withRedis(try await TestStore.shared()) { redis in
            let (store, app) = (store(redis, kept: 5), AppID(RedisServer.uniqueApp("drift")))
            for number in 1...8 { try await store.note(drift(number, of: app), due: Self.noon) }
            let listed = try await store.list(app, .production, limit: 100)
            let newest = (4...8).reversed().map { drift($0, of: app) }
            #expect(listed == newest)
            #expect(try await store.openCount(app, .production) == 5)
            #expect(try await !store.settle(drift(1, of: app, .lost)))
        }
    }
}
