import AppStore
import Broker
import CacheTier
import Entitlements
import JSON
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import Consumer

/// Lineages in doubt, and an Apple that says what a test says.
@Suite("Lineages in doubt after an outage", .timeLimit(.minutes(6))) struct LineageSettlingTests {
    private static let now = Timestamp(milliseconds: 1_764_000_000_000)
    private static let product = "pro.month"

    private final class Shop: Sendable {
        let app = AppID(RedisServer.uniqueApp("settling"))
        let redis: RedisClient
        let store: LineageStore
        let rules = StoreRules {
            ProductMap(version: "1", products: [LineageSettlingTests.product: .init(entitlements: ["pro"])])
        }
        let publisher = SettlingPublisher()
        let lines = Lines()
        let asked = Mutex<[String]>([])

        init(_ redis: RedisClient) {
            self.redis = redis
            store = LineageStore(redis: redis)
        }

        func lineage(_ id: String) -> LineageID {
            LineageID(app: app, environment: .production, originalTransactionID: id)
        }

        func period(_ id: String, ends: Timestamp, signed: Timestamp) -> Observation {
            Observation(
                lineage: lineage(id), source: .notification, signedDate: signed,
                transaction: TransactionFact(
                    transactionID: "\(id)-\(ends.milliseconds)", originalTransactionID: id,
                    productID: LineageSettlingTests.product, signedDate: signed,
                    purchaseDate: ends - .seconds(30 * 86_400), expiresDate: ends, type: "Auto-Renewable Subscription",
                    appAccountToken: "00000000-0000-4000-8000-\(id)", ownership: "PURCHASED",
                    payloadHash: "\(id) \(ends.milliseconds)"))
        }

        /// A subscription whose paid period ended so long ago, without a word from Apple.
        func sell(_ id: String, ended ago: Duration) async throws {
            let end = LineageSettlingTests.now - ago
            _ = try await store.apply(
                period(id, ends: end, signed: end - .seconds(86_400)), cause: .purchase, at: end - .seconds(86_400))
        }

        func settling(lanes: Int = 1, _ answer: @escaping LineageCheck.Ask) -> LineageSettling {
            var settings = RecoverySettings()
            settings.lanes = lanes
            return LineageSettling(
                app: app, environment: .production, redis: redis, store: store, rules: rules, publisher: publisher,
                names: BrokerNames(prefix: "test"), settings: settings, clock: WallClock { LineageSettlingTests.now },
                log: Log(part: "test", sink: lines.sink), ask: answer)
        }

        /// Apple says that it was renewed.
        func renewed(_ record: LineageRecord) -> LineageCheck.Word {
            let id = record.lineage.originalTransactionID
            asked.withLock { $0.append(id) }
            let now = LineageSettlingTests.now
            return LineageCheck.Word(
                message: BrokerMessage(body: Array(id.utf8), messageID: "statuses-\(id)"),
                observations: [period(id, ends: now + .seconds(86_400), signed: now)], said: "status 1")
        }

        var job: RecoveryJob {
            let now = LineageSettlingTests.now
            return RecoveryJob(
                name: "outage-1", cause: .outage, phase: .lineages,
                history: BackfillProgress(from: now - .seconds(60), until: now), at: now)
        }
    }

    private func with(_ body: (Shop) async throws -> Void) async throws {
        let server = try await RedisServer.shared()
        let loop = try EventLoop(name: "settling")
        var settings = RedisSettings()
        settings.port = server.port
        settings.commandTimeout = .seconds(30)
        let redis = RedisClient(name: "settling", settings: settings, loop: loop)
        await redis.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(Shop(redis))) } catch {
            result = .failure(error)
        }
        await redis.close()
        loop.stop()
        try result.get()
    }

    @Test("Invariant 5: who has lost access for want of Apple's word comes first, then whose hold ends first")
    func theMostUrgentComesFirst() async throws {
        try await with { shop in
            try await shop.sell("000000000001", ended: .seconds(60))
            try await shop.sell("000000000002", ended: .seconds(20 * 3600))
            try await shop.sell("000000000003", ended: .seconds(30 * 3600))
            try await shop.sell("000000000004", ended: .seconds(3600))
            try await shop.sell("000000000005", ended: .seconds(-3600))
            let settling = shop.settling { record, _ throws(LineageCheck.Silence) in shop.renewed(record) }
            let done = try await settling.run(shop.job) { _ in }
            let asked = shop.asked.withLock { $0 }
            #expect(asked == ["000000000003", "000000000002", "000000000004", "000000000001"])
            #expect(done.lineages.found == 4)
            #expect(done.lineages.settled == 4)
            let expected = Set((1...4).map { "statuses-00000000000\($0)" })
            #expect(Set(shop.publisher.uuids) == expected)
            let audit = shop.lines.all.filter { $0["event"]?.string == "Apple was asked about a lineage" }
            #expect(audit.count == 4)
            #expect(audit.first?["lineage"]?.string == "000000000003")
            #expect(audit.first?["said"]?.string == "status 1")
            #expect(audit.first?["before"]?.string == "expired")
            #expect(audit.first?["concluded"]?.string == "active")
            #expect(audit.first?["took"]?.int64 != nil)
        }
    }

    @Test func whatNewsHasSettledMeanwhileIsNotAskedAbout() async throws {
        try await with { shop in
            try await shop.sell("000000000001", ended: .seconds(7200))
            try await shop.sell("000000000002", ended: .seconds(3600))
            let settling = shop.settling { record, _ throws(LineageCheck.Silence) in
                // The other one's renewal comes by itself while Apple is asked about this one.
                let renewal = shop.period(
                    "000000000002", ends: Self.now + .seconds(86_400), signed: Self.now)
                do { _ = try await shop.store.apply(renewal, cause: .renewal, at: Self.now) } catch {
                    throw LineageCheck.Silence(reason: "\(error)", isPassing: false)
                }
                return shop.renewed(record)
            }
            let done = try await settling.run(shop.job) { _ in }
            let asked = shop.asked.withLock { $0 }
            #expect(asked == ["000000000001"])
            #expect(done.lineages.settledMeanwhile == 1)
            #expect(done.lineages.asked == 1)
        }
    }

    @Test func anAppleThatIsSilentAgainAndAgainIsLeftInPeace() async throws {
        try await with { shop in
            for number in 1...8 { try await shop.sell("00000000000\(number)", ended: .seconds(3600)) }
            let calls = Mutex(0)
            let settling = shop.settling { _, _ throws(LineageCheck.Silence) in
                calls.withLock { $0 += 1 }
                // So far ahead that nobody waits for it here.
                throw LineageCheck.Silence(
                    reason: "500", isPassing: true, retryAfter: Self.now + .seconds(3600))
            }
            var isSilent = false
            do throws(RecoveryFailure) { _ = try await settling.run(shop.job) { _ in } } catch {
                if case .appleSilent = error { isSilent = true }
            }
            #expect(isSilent)
            let count = calls.withLock { $0 }
            #expect(count == 5)
            #expect(shop.publisher.messages.isEmpty)
        }
    }

    @Test(
        "Invariant 2: an answer that cannot be used goes into quarantine, and the others are asked about all the same")
    func anAnswerThatCannotBeUsedHoldsUpNobody() async throws {
        try await with { shop in
            try await shop.sell("000000000001", ended: .seconds(7200))
            try await shop.sell("000000000002", ended: .seconds(3600))
            let settling = shop.settling { record, _ throws(LineageCheck.Silence) in
                guard record.lineage.originalTransactionID == "000000000002" else {
                    throw LineageCheck.Silence(
                        reason: "signature", isPassing: false,
                        unusable: BrokerMessage(body: [1], messageID: "unusable"))
                }
                return shop.renewed(record)
            }
            let done = try await settling.run(shop.job) { _ in }
            #expect(done.lineages.failed == 1)
            #expect(done.lineages.settled == 1)
            #expect(shop.publisher.uuids == ["unusable", "statuses-000000000002"])
        }
    }
}
