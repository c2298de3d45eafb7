import AppStore
import Entitlements
import JSON
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import Broker
@testable import CacheTier
@testable import Consumer

/// What reminds of ends, on a real Redis; what is due when is tested where the schedule is.
@Suite(.timeLimit(.minutes(6))) struct ReminderServiceTests {
    private static let customer = "00000000-0000-4000-8000-00000000000a"

    private static func day(_ number: Int) -> Timestamp {
        Timestamp(milliseconds: 1_750_000_000_000 + Int64(number) * 86_400_000)
    }

    private struct Desk {
        let app = AppID(RedisServer.uniqueApp("reminders"))
        let redis: RedisClient
        let store: LineageStore
        let rules: StoreRules

        init(_ redis: RedisClient) {
            self.redis = redis
            let map = ProductMap(version: "4", products: ["pro.month": .init(entitlements: ["pro"])])
            rules = StoreRules { map }
            store = LineageStore(redis: redis, rules: [app: rules])
        }

        func book(at instant: Timestamp) -> ReminderBook {
            ReminderBook(
                redis: redis, app: app, environment: .sandbox, rules: rules, clock: WallClock { instant })
        }

        func service(
            _ publisher: any MessagePublisher, at instant: Timestamp, lookEvery: Duration = .milliseconds(20)
        ) -> ReminderService {
            ReminderService(
                books: [book(at: instant)], publisher: publisher, names: BrokerSettings().names, lookEvery: lookEvery,
                clock: WallClock { instant }, metrics: Metrics(), log: .discarding
            ) { true }
        }

        /// A month whose renewal was turned off on the fifth day.
        func cancel(_ id: String) async throws {
            let lineage = LineageID(app: app, environment: .sandbox, originalTransactionID: id)
            _ = try await store.apply(
                Observation(
                    lineage: lineage, source: .notification, signedDate: day(5),
                    transaction: TransactionFact(
                        transactionID: id, originalTransactionID: id, productID: "pro.month", signedDate: day(0),
                        purchaseDate: day(0), expiresDate: day(30), type: "Auto-Renewable Subscription",
                        appAccountToken: customer, ownership: "PURCHASED", payloadHash: id),
                    renewal: RenewalFact(
                        originalTransactionID: id, signedDate: day(5), autoRenewStatus: 0, payloadHash: id)),
                cause: .preference, at: day(5))
        }
    }

    private func withDesk(_ body: (Desk) async throws -> Void) async throws {
        try await Stage.with { try await body(Desk($0.redis)) }
    }

    @Test func aReminderSaysWhatATextNeeds() async throws {
        try await withDesk { desk in
            try await desk.cancel("100")
            let publisher = RecordingPublisher()
            let service = desk.service(publisher, at: Self.day(23))
            #expect(try await service.remind(desk.book(at: Self.day(23)), .discarding) == 1)
            let said = try #require(publisher.published.first)
            #expect(said.exchange == "holdfast.events")
            #expect(said.routingKey == "\(desk.app).sandbox.reminder.due")
            let event = try JSONValue.parse(said.message.body)
            for (name, value) in [
                "event": "reminder.due", "customer": Self.customer, "originalTransactionId": "100", "lead": "7d",
                "productId": "pro.month", "endsAt": Self.day(30).rfc3339, "kind": "autoRenewable", "mapVersion": "4",
                "ownership": "PURCHASED", "id": said.message.messageID,
            ] {
                #expect(event[name]?.string == value, "\(name)")
            }
            #expect(event["entitlements"]?.array?.first?.string == "pro")
            for (name, _) in ReminderEvent.fields { #expect(event[name] != nil, "\(name)") }
        }
    }

    @Test func whatTheBrokerDoesNotTakeIsSaidLater() async throws {
        try await withDesk { desk in
            for number in 1...3 { try await desk.cancel("\(number)") }
            let refusing = RecordingPublisher(refusing: "\(desk.app).sandbox.reminder.due")
            let book = desk.book(at: Self.day(23))
            #expect(try await desk.service(refusing, at: Self.day(23)).remind(book, .discarding) == 0)
            #expect(try await book.counts().due == 3)
            let taking = RecordingPublisher()
            #expect(try await desk.service(taking, at: Self.day(23)).remind(book, .discarding) == 3)
            #expect(try await desk.service(taking, at: Self.day(23)).remind(book, .discarding) == 0)
            #expect(taking.published.count == 3)
        }
    }

    @Test("Several consumers say each reminder once") func severalConsumersSayEachOnce() async throws {
        try await withDesk { desk in
            let count = 30
            for number in 0..<count { try await desk.cancel("\(number)") }
            let publisher = RecordingPublisher()
            let services = (0..<3).map { _ in desk.service(publisher, at: Self.day(27)) }
            for service in services { await service.start() }
            let book = desk.book(at: Self.day(27))
            check(try await eventually { try await book.counts().due == 0 })
            for service in services { await service.drain() }
            let ids = publisher.published.compactMap(\.message.messageID)
            #expect(ids.count == count)
            #expect(Set(ids).count == count)
        }
    }

    @Test("Who takes over says what the dead one had not noted, under the same id")
    func whoTakesOverSaysItUnderTheSameID() async throws {
        try await withDesk { desk in
            try await desk.cancel("1")
            let book = desk.book(at: Self.day(23))
            let entry = try #require(try await book.due(limit: 1).first)
            // Said, and dead before it was noted.
            let event = ReminderEvent(try await book.look(at: entry), entry, at: Self.day(23))
            let first = try #require(event).id
            let publisher = RecordingPublisher()
            #expect(
                try await desk.service(publisher, at: Self.day(24)).remind(desk.book(at: Self.day(24)), .discarding)
                    == 1)
            #expect(publisher.published.first?.message.messageID == first)
        }
    }

    @Test("A time that is no whole number is moved on, and the round ends") func anOddTimeIsMovedOn() async throws {
        try await withDesk { desk in
            try await desk.cancel("100")
            let holder = Holder.customer(Self.customer)
            let key = StorageLayout.reminders(
                desk.app, .sandbox, partition: StorageLayout.partition(of: holder.path(desk.app, .sandbox)))
            _ = try await desk.redis.send(["ZADD", .text(key), "1.5", .text("\(Self.customer) 100")])
            let book = desk.book(at: Self.day(10))
            #expect(try await book.counts().due == 1)
            _ = try await desk.service(RecordingPublisher(), at: Self.day(10)).remind(book, .discarding)
            let counts = try await book.counts()
            #expect(counts.due == 0)
            #expect(counts.scheduled == 1)
        }
    }
}
