import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

/// What a recovery looks through to find the lineages in doubt.
@Suite(.everyServer, .timeLimit(.minutes(6))) struct DueWalkTests {
    private let now = day(0) + .seconds(7200)

    @Test(.alsoOnCluster) func whatIsDueOrAboutAccessIsFoundAndNothingElse() async throws {
        let app = TestApp("walk")
        try await withRedis(try await TestStore.shared()) { redis in
            let store = LineageStore(redis: redis)
            let work = DueWork(redis: redis, app: app.id, environment: .production, clock: WallClock { now })
            // All in one partition: of one customer.
            for number in 1...15 { _ = try await store.apply(app.period(of: app.lineage("\(number)"))) }
            _ = try await store.apply(app.period(of: app.lineage("99", .sandbox)))
            let holder = Holder.customer(anna)
            for number in 1...7 {
                // At the same instant, which is still to come.
                let due = DueCheck(at: now + .seconds(60), row: .hold)
                check(try await work.hasten(app.lineage("\(number)"), of: holder, to: due))
            }
            for number in 8...12 {
                let check = DueCheck(at: now - .seconds(number), row: .running)
                _ = try await work.hasten(app.lineage("\(number)"), of: holder, to: check)
            }
            for limit in [1, 2, 3, 200] {
                var walk = DueWalk(
                    redis: redis, app: app.id, environment: .production, at: now, limit: limit)
                var found: Set<String> = []
                while let records = try await walk.next() {
                    found.formUnion(records.map(\.lineage.originalTransactionID))
                }
                let expected = Set((1...12).map { "\($0)" })
                #expect(found == expected, "\(limit) at a time")
            }
        }
    }
}
