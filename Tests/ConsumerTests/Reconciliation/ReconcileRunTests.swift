import AppStore
import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import Broker
@testable import CacheTier
@testable import Consumer

/// What becomes of a lineage about which Apple says no.
@Suite("One check", .timeLimit(.minutes(6))) struct ReconcileRunTests {
    fileprivate static func day(_ number: Int) -> Timestamp {
        Timestamp(milliseconds: 1_750_000_000_000 + Int64(number) * 86_400_000)
    }

    /// An hour after the end: there is doubt.
    fileprivate static let checkedAt = day(30) + .seconds(3600)

    private final class Desk: Sendable {
        let app = AppID(RedisServer.uniqueApp("check"))
        let now = Mutex(ReconcileRunTests.day(0))
        let isKeyRefused = Mutex(false)
        let rules: StoreRules
        let map = ProductMap(version: "1", products: ["pro.month": .init(entitlements: ["pro"])])
        let store: LineageStore
        private let redis: RedisClient

        init(_ redis: RedisClient) {
            self.redis = redis
            let map = self.map
            rules = StoreRules { map }
            store = LineageStore(redis: redis, rules: [app: rules])
        }

        var clock: WallClock { WallClock { self.now.withLock { $0 } } }
        var schedule: DueWork { DueWork(redis: redis, app: app, environment: .production, clock: clock) }
        var lineage: LineageID { LineageID(app: app, environment: .production, originalTransactionID: "100") }

        /// A month that is over without a word.
        func enter() async throws {
            _ = try await store.apply(
                Observation(
                    lineage: lineage, source: .notification, signedDate: ReconcileRunTests.day(0),
                    transaction: TransactionFact(
                        transactionID: "100", originalTransactionID: "100", productID: "pro.month",
                        signedDate: ReconcileRunTests.day(0),
                        purchaseDate: ReconcileRunTests.day(0), expiresDate: ReconcileRunTests.day(30),
                        type: "Auto-Renewable Subscription",
                        ownership: "PURCHASED", payloadHash: "100")),
                cause: .purchase, at: ReconcileRunTests.day(0))
            now.withLock { $0 = ReconcileRunTests.checkedAt }
        }

        func run(_ publisher: RecordingPublisher = RecordingPublisher()) -> ReconcileRun {
            ReconcileRun(
                due: schedule, store: store, rules: rules, publisher: publisher, names: BrokerNames(prefix: "t"),
                clock: clock, health: { .fine }, isKeyRefused: { self.isKeyRefused.withLock { $0 } },
                ask: { _, _ throws(LineageCheck.Silence) in
                    throw LineageCheck.Silence(reason: "Apple says no", isPassing: false)
                })
        }

        func next(_ asked: Cadence.Asked) async throws -> Timestamp? {
            let record = try await store.find(lineage)?.record
            return record.flatMap {
                Cadence.next(for: $0, map: map, policy: rules.evaluation, at: clock.now(), asked: asked)?.at
            }
        }

        /// Checks what is due, and says whether it is due again at `instant` and not before.
        func isDueNext(at instant: Timestamp) async throws -> Bool {
            let claim = try #require(try await schedule.claim(limit: 10, lease: .seconds(60)).first)
            await run().check(claim)
            now.withLock { $0 = instant - .milliseconds(1) }
            guard try await schedule.claim(limit: 10, lease: .seconds(60)).isEmpty else { return false }
            now.withLock { $0 = instant }
            return try await schedule.claim(limit: 10, lease: .seconds(60)).count == 1
        }
    }

    private func withDesk(_ body: (Desk) async throws -> Void) async throws {
        try await Stage.with { try await body(Desk($0.redis)) }
    }

    @Test func whatAppleRefusesIsAskedAgainAfterTheWholeInterval() async throws {
        try await withDesk { desk in
            try await desk.enter()
            let whole = try #require(try await desk.next(.answered(Self.checkedAt)))
            let soon = try #require(try await desk.next(.failed(Self.checkedAt)))
            #expect(soon < whole)
            #expect(try await desk.isDueNext(at: whole))
        }
    }

    @Test func whileTheKeyIsRefusedNothingIsTakenAndWhatWasAskedIsDueSoon() async throws {
        try await withDesk { desk in
            try await desk.enter()
            #expect(desk.run().lanes(of: 4) == 4)
            desk.isKeyRefused.withLock { $0 = true }
            #expect(desk.run().lanes(of: 4) == 0)
            let soon = try #require(try await desk.next(.failed(Self.checkedAt)))
            #expect(try await desk.isDueNext(at: soon))
        }
    }
}
