import AppStore
import CacheTier
import Entitlements
import JSON
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import Broker
@testable import Consumer

/// Why a notification did not tell, with a real Redis and an Apple that says what a test says.
@Suite("Examination of drift", .timeLimit(.minutes(6))) struct DriftExaminationTests {
    private static let foundAt = Timestamp(milliseconds: 1_764_000_000_000)
    private static let minute = Duration.seconds(60)

    private final class Desk: Sendable {
        let app = AppID(RedisServer.uniqueApp("drift"))
        let store: DriftStore
        let redis: RedisClient
        let publisher: RecordingPublisher
        let metrics = Metrics()
        let now = Mutex(DriftExaminationTests.foundAt + DriftExaminationTests.minute * 10)
        let history = Mutex<Result<[DriftExamination.Told], ServerAPIFailure>>(.success([]))
        let asked = Mutex<[Timestamp]>([])

        init(_ redis: RedisClient, _ publisher: RecordingPublisher) {
            self.redis = redis
            self.publisher = publisher
            store = DriftStore(redis: redis)
        }

        var clock: WallClock { WallClock { self.now.withLock { $0 } } }
        /// Remembers as of `instant`.
        func seen(at instant: Timestamp) -> SeenNotifications {
            SeenNotifications(redis: redis, clock: WallClock { instant })
        }

        func lineage(_ id: String) -> LineageID {
            LineageID(app: app, environment: .production, originalTransactionID: id)
        }

        func told(
            _ type: String, _ uuid: String, at signed: Timestamp, delivered: Bool = true, about id: String = "100"
        ) -> DriftExamination.Told {
            DriftExamination.Told(
                type: type, uuid: uuid, lineage: lineage(id), signedDate: signed, isDelivered: delivered)
        }

        func drift(_ differences: [Drift.Difference]) -> Drift {
            Drift(
                id: "answer:100", lineage: lineage("100"), transactionID: "101", purpose: .reconcile,
                foundAt: DriftExaminationTests.foundAt, differences: differences, before: .active, after: .expired)
        }

        func examination() -> DriftExamination {
            examination { [self] _, from throws(ServerAPIFailure) in
                asked.withLock { $0.append(from) }
                return try history.withLock { $0 }.get()
            }
        }

        func examination(_ history: @escaping DriftExamination.History) -> DriftExamination {
            DriftExamination(
                app: app, environment: .production, store: store, seen: seen(at: clock.now()), publisher: publisher,
                names: BrokerNames(prefix: "t"), clock: clock, metrics: metrics, history: history)
        }

        func count(_ field: Drift.Field, _ cause: Drift.Cause) -> UInt64 {
            metrics.counter(
                "holdfast_drift_total", "",
                labels: [
                    "app": app.rawValue, "environment": "production", "field": field.rawValue,
                    "cause": cause.rawValue,
                ]
            ).value
        }
    }

    private func with(
        _ publisher: RecordingPublisher = RecordingPublisher(), _ body: (Desk) async throws -> Void
    ) async throws {
        let server = try await RedisServer.shared()
        let loop = try EventLoop(name: "drift")
        var settings = RedisSettings()
        settings.port = server.port
        settings.commandTimeout = .seconds(30)
        let redis = RedisClient(name: "drift", settings: settings, loop: loop)
        await redis.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(Desk(redis, publisher))) } catch { result = .failure(error) }
        await redis.close()
        loop.stop()
        try result.get()
    }

    private static let expired = Drift.Difference(
        .status, ours: "1", apples: "2", tellers: [.expired], since: foundAt - minute * 60)

    /// What is found of one difference when Apple's history says `told`, and consumers have settled some of it.
    private func cause(
        _ told: (Desk) -> [DriftExamination.Told], settled: [(uuid: String, at: Timestamp)] = []
    ) async throws -> Drift.Difference? {
        var found: Drift.Difference?
        try await with { desk in
            try await desk.seen(at: Self.foundAt - Self.minute * 600).begin(desk.app, .production)
            for one in settled { try await desk.seen(at: one.at).note(one.uuid, of: desk.app, in: .production) }
            desk.history.withLock { $0 = .success(told(desk)) }
            try await desk.store.note(desk.drift([Self.expired]), due: Self.foundAt + Self.minute)
            check(try await desk.examination().examineDue())
            let listed = try await desk.store.list(desk.app, .production, limit: 10)
            found = listed.first?.differences.first
            if let cause = found?.cause { check(desk.count(.status, cause) == 1) }
        }
        return found
    }

    @Test func whatCameAfterwardsWasLate() async throws {
        let signed = Self.foundAt - Self.minute
        let found = try await cause(
            { [$0.told("EXPIRED", "u", at: signed)] }, settled: [("u", Self.foundAt + Self.minute)])
        #expect(found?.cause == .late)
        #expect(found?.notificationUUID == "u")
    }

    @Test func whatHadComeAndDidNotTellIsUnheeded() async throws {
        let signed = Self.foundAt - Self.minute * 3
        let found = try await cause(
            { [$0.told("EXPIRED", "u", at: signed)] }, settled: [("u", Self.foundAt - Self.minute * 2)])
        #expect(found?.cause == .unheeded)
    }

    @Test func whatAppleDeliveredAndIsNotWithUsIsLost() async throws {
        let signed = Self.foundAt - Self.minute
        let found = try await cause { [$0.told("EXPIRED", "u", at: signed)] }
        #expect(found?.cause == .lost)
    }

    @Test func whatAppleCouldNotDeliverCountsSoAlsoWhenABackfillHasBroughtIt() async throws {
        let signed = Self.foundAt - Self.minute
        let missing = try await cause { [$0.told("EXPIRED", "u", at: signed, delivered: false)] }
        #expect(missing?.cause == .undelivered)
        let brought = try await cause(
            { [$0.told("EXPIRED", "u", at: signed, delivered: false)] },
            settled: [("u", Self.foundAt + Self.minute)])
        #expect(brought?.cause == .undelivered)
    }

    @Test func whatAppleHasNotSentWasNeverSent() async throws {
        let signed = Self.foundAt - Self.minute
        // Another type, another subscription of the same customer, and one from before what we knew.
        let found = try await cause { desk in
            [
                desk.told("DID_RENEW", "a", at: signed), desk.told("EXPIRED", "b", at: signed, about: "200"),
                desk.told("EXPIRED", "c", at: Self.foundAt - Self.minute * 61),
            ]
        }
        #expect(found?.cause == .neverSent)
        #expect(found?.notificationUUID == nil)
    }

    @Test func ofSeveralTheLastBeforeAppleWasAskedCounts() async throws {
        let found = try await cause(
            { desk in
                [
                    desk.told("EXPIRED", "first", at: Self.foundAt - Self.minute * 30),
                    desk.told("EXPIRED", "last", at: Self.foundAt - Self.minute),
                    desk.told("EXPIRED", "after", at: Self.foundAt + Self.minute * 5),
                ]
            }, settled: [("last", Self.foundAt + Self.minute)])
        #expect(found?.cause == .late)
        #expect(found?.notificationUUID == "last")
    }

    @Test func whatIsBeyondMemoryIsUnknown() async throws {
        try await with { desk in
            // Remembering began after it was signed.
            try await desk.seen(at: Self.foundAt).begin(desk.app, .production)
            desk.history.withLock {
                $0 = .success([desk.told("EXPIRED", "u", at: Self.foundAt - Self.minute)])
            }
            try await desk.store.note(desk.drift([Self.expired]), due: Self.foundAt)
            check(try await desk.examination().examineDue())
            #expect(desk.count(.status, .unknown) == 1)
        }
    }

    @Test func whatNoNotificationTellsNeedsNoQuestion() async throws {
        try await with { desk in
            let token = Drift.Difference(.appAccountToken, ours: nil, apples: "t", tellers: [], since: Self.foundAt)
            try await desk.store.note(desk.drift([token]), due: Self.foundAt)
            check(try await desk.examination().examineDue())
            #expect(desk.count(.appAccountToken, .untold) == 1)
            let asked = desk.asked.withLock { $0 }
            #expect(asked.isEmpty)
        }
    }

    @Test func operatorsAreToldWithTheCauses() async throws {
        try await with { desk in
            try await desk.store.note(desk.drift([Self.expired]), due: Self.foundAt)
            check(try await desk.examination().examineDue())
            let event = try #require(desk.publisher.published.first)
            #expect(event.exchange == "t.events")
            #expect(event.routingKey == "\(desk.app).production.drift.found")
            #expect(event.message.messageID == "answer:100:drift.found")
            let body = try JSONValue.parse(event.message.body)
            let difference = body["differences"]?.array?.first
            #expect(difference?["field"]?.string == "status")
            #expect(difference?["cause"]?.string == "neverSent")
            #expect(body["originalTransactionId"]?.string == "100")
            #expect(try await !desk.examination().examineDue())
            #expect(desk.publisher.published.count == 1)
        }
    }

    @Test func anAppleThatDoesNotSayIsAskedAgainLater() async throws {
        try await with { desk in
            let failure = ServerAPIFailure(.server, .notifications, "503", status: 503, isRetryable: true)
            desk.history.withLock { $0 = .failure(failure) }
            try await desk.store.note(desk.drift([Self.expired]), due: Self.foundAt)
            check(try await desk.examination().examineDue())
            check(try await !desk.examination().examineDue())
            #expect(try await desk.store.openCount(desk.app, .production) == 1)
            desk.history.withLock { $0 = .success([]) }
            desk.now.withLock { $0 = $0 + .seconds(300) }
            check(try await desk.examination().examineDue())
            #expect(desk.count(.status, .neverSent) == 1)
            // From the time on at which what we knew was signed.
            let from = desk.asked.withLock { $0.last }
            #expect(from == Self.foundAt - Self.minute * 61)
        }
    }

    @Test func anEventThatIsNotTakenLeavesItToAnotherTry() async throws {
        let refusing = RecordingPublisher()
        try await with(refusing) { desk in
            refusing.refuse("\(desk.app).production.drift.found")
            try await desk.store.note(desk.drift([Self.expired]), due: Self.foundAt)
            check(try await desk.examination().examineDue())
            #expect(try await desk.store.openCount(desk.app, .production) == 1)
            #expect(desk.count(.status, .neverSent) == 0)
        }
    }

    @Test("Who is stopped while it asks ends, and others go on at once") func whoIsStoppedEndsAndOthersGoOn()
        async throws
    {
        try await with { desk in
            try await desk.store.note(desk.drift([Self.expired]), due: Self.foundAt)
            let asking = AsyncStream.makeStream(of: Void.self)
            let examination = desk.examination { _, _ throws(ServerAPIFailure) in
                asking.continuation.yield()
                // Until it is stopped.
                try? await Task.sleep(for: .seconds(3600))
                throw ServerAPIFailure(.cancelled, .notifications, "stopped")
            }
            let work = Task { try await examination.examineDue() }
            for await _ in asking.stream { break }
            work.cancel()
            #expect(try await !work.value)
            #expect(try await desk.store.openCount(desk.app, .production) == 1)
            check(try await desk.examination().examineDue())
            #expect(try await desk.store.openCount(desk.app, .production) == 0)
        }
    }
}
