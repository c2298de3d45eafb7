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

/// What the consumer has to do with product maps.
@Suite struct ProductMapTests {
    private let app = AppID(RedisServer.uniqueApp("maps"))

    private func withRedis(_ body: (RedisClient) async throws -> Void) async throws {
        let loop = try EventLoop(name: "maps")
        var settings = RedisSettings()
        settings.port = try await RedisServer.shared().port
        settings.commandTimeout = .seconds(30)
        let redis = RedisClient(name: "maps", settings: settings, loop: loop)
        await redis.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(redis)) } catch { result = .failure(error) }
        await redis.close()
        loop.stop()
        try result.get()
    }

    private func recomputer(
        _ redis: RedisClient, _ publisher: RecordingPublisher, _ consumer: ConsumerSettings = ConsumerSettings()
    ) -> ProductMapRecomputer {
        var settings = ProductMapSettings()
        settings.followEvery = .milliseconds(1)
        return ProductMapRecomputer(
            redis: redis, settings: settings, publisher: publisher, names: BrokerNames(prefix: "t"), consumer: consumer)
    }

    /// Two customers in sandbox with `pro.month`, and a map by which it gives something for the first time.
    private func publish(_ redis: RedisClient) async throws {
        let store = LineageStore(redis: redis)
        for number in 1...2 {
            _ = try await store.apply(
                Observation(
                    lineage: LineageID(app: app, environment: .sandbox, originalTransactionID: "\(number)"),
                    source: .notification, signedDate: Forge.now,
                    transaction: TransactionFact(
                        transactionID: "\(number)", originalTransactionID: "\(number)", productID: "pro.month",
                        signedDate: Forge.now, purchaseDate: Forge.now, type: "Non-Consumable",
                        appAccountToken: "00000000-0000-4000-8000-00000000000\(number)", ownership: "PURCHASED",
                        payloadHash: "\(number)")), cause: .purchase, at: Forge.now)
        }
        let map = ProductMapDocument(products: ["pro.month": .init(entitlements: ["pro"])])
        _ = try await ProductMapStore(redis: redis).publish(
            map, for: app, expecting: 0, first: ProductMapDocument(products: [:]), by: "tests", comment: "",
            at: Forge.now)
    }

    @Test func aProductThatTheMapDoesNotKnowIsKeptByNameUntilItDoes() async throws {
        try await withRedis { redis in
            let unmapped = UnmappedProducts(redis: redis)
            var handler = DeliveryHandler(
                apps: [
                    app: ConsumerApp(
                        identity: Forge.identity, map: ProductMap(products: ["pro.year": .init(entitlements: ["pro"])]))
                ], verifier: try Forge.verifier(), store: LineageStore(redis: redis), publisher: RecordingPublisher(),
                names: BrokerNames(prefix: "t"), metrics: Metrics(), clock: WallClock { Forge.now }, log: .discarding)
            handler.unmapped = unmapped
            for (lineage, product) in [("1", "pro.month"), ("2", "pro.month"), ("3", "pro.year")] {
                let body = try Forge.notification(lineage: lineage, product: product)
                _ = await handler.handle(.of(body, app: app.rawValue))
            }
            let found = try await unmapped.list(of: app, notIn: ProductMap()).0
            #expect(found.map(\.productID) == ["pro.month"])
            #expect(found.first?.environment == .sandbox)
            #expect(found.first?.notifications == 2)
            #expect(found.first?.lastSeen == Forge.now)
        }
    }

    @Test func theMapIsAskedForEachNotification() {
        let version = Metrics().gauge("version", "")
        let app = ConsumerApp(identity: Forge.identity) { ProductMap(version: "\(version.value)") }
        version.set(1)
        #expect(app.map.version == "1.0")
        version.set(2)
        #expect(app.map.version == "2.0")
    }

    @Test func whoseAnswerAnotherMapChangesIsAnEventWithACauseAndAnIdThatStays() async throws {
        try await withRedis { redis in
            try await publish(redis)
            let publisher = RecordingPublisher()
            _ = try await recomputer(redis, publisher).run(app, policy: .standard)
            #expect(publisher.published.count == 2)
            let event = try #require(publisher.published.first)
            #expect(event.exchange == "t.events")
            #expect(event.routingKey == "\(app).sandbox.entitlement.changed")
            #expect(event.message.type == "entitlement.changed")
            let body = try JSONValue.parse(event.message.body)
            #expect(body["cause"]?.string == "map")
            #expect(body["productMapVersion"]?.string == "1")
            #expect(body["environment"]?.string == "sandbox")
            #expect(body["customer"]?.string?.hasPrefix("00000000-0000-4000-8000-") == true)
            #expect(Set(publisher.published.map(\.message.messageID)).count == 2)

            func id(
                _ customer: String, _ version: UInt64, _ environment: StoreEnvironment, at: Timestamp,
                published: Timestamp = Forge.now
            ) -> String? {
                ProductMapChangeEvent(
                    ProductMapChange(
                        app: app, environment: environment, customer: customer, version: version,
                        publishedAt: published, gains: [], losses: [], at: at)
                ).message.messageID
            }
            let one = id("anna", 1, .sandbox, at: Forge.now)
            #expect(one == id("anna", 1, .sandbox, at: Forge.now + .seconds(60)))
            #expect(one != id("anna", 2, .sandbox, at: Forge.now))
            #expect(one != id("anna", 1, .production, at: Forge.now))
            #expect(one != id("ben", 1, .sandbox, at: Forge.now))
            // The number again, after Redis lost its data.
            #expect(one != id("anna", 1, .sandbox, at: Forge.now, published: Forge.now + .seconds(60)))
        }
    }

    @Test func whoWantsNoEventsGetsNone() async throws {
        try await withRedis { redis in
            try await publish(redis)
            let publisher = RecordingPublisher()
            var settings = ConsumerSettings()
            settings.publishEvents = false
            _ = try await recomputer(redis, publisher, settings).run(app, policy: .standard)
            #expect(publisher.published.isEmpty)
        }
    }

    @Test func aRunningConsumerFinishesWhatAPublisherLeft() async throws {
        try await withRedis { redis in
            try await publish(redis)
            let publisher = RecordingPublisher(refusing: "\(app).sandbox.entitlement.changed")
            do throws(ProductMapRecomputer.Failure) {
                _ = try await recomputer(redis, publisher).run(app, policy: .standard)
                Issue.record("nothing was refused")
            } catch {
                #expect("\(error)".contains("a change could not be announced"))
            }
            let taking = RecordingPublisher()
            let recomputer = recomputer(redis, taking)
            let service = ProductMapRecomputeService(
                policies: [app: .standard], recomputer: recomputer, pause: .milliseconds(10), log: .discarding
            ) { true }
            await service.start()
            check(try await eventually { try await recomputer.unfinished(app) == nil })
            await service.drain()
            #expect(taking.published.count == 2)
        }
    }
}
