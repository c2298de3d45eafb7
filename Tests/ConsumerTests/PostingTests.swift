import AppStore
import Broker
import CacheTier
import Entitlements
import Gateway
import HTTP
import JSON
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import Consumer

/// From a backend's post to what a read answers, on real servers: gateway, RabbitMQ, Redis and consumer.
@Suite("Posting purchases on real servers", .timeLimit(.minutes(6))) struct PostingTests {
    /// A gateway beside the consumer of a stage.
    struct Desk: Sendable {
        let stage: Stage
        let gateway: Gateway
        let client: HTTPClient

        struct Answer: Sendable {
            let status: Int
            let json: JSONValue
            var decisions: [String] { json["purchases"]?.array?.compactMap { $0["decision"]?.string } ?? [] }
            var hasPro: Bool {
                json["entitlements"]?.array?.contains { $0["id"]?.string == "pro" && $0["active"]?.bool == true }
                    ?? false
            }
        }

        func post(_ transactions: [String], for customer: String, query: String = "") async throws -> Answer {
            var json = JSONWriter()
            json.beginObject()
            json.array("signedTransactions", transactions) { json, text in json.string(text) }
            json.endObject()
            return try await send(.post, customer, "transactions\(query)", json.bytes)
        }

        func read(_ customer: String) async throws -> Answer {
            try await send(.get, customer, "entitlements?environment=sandbox", [])
        }

        private func send(
            _ method: HTTPClientRequest.Method, _ customer: String, _ rest: String, _ body: [UInt8]
        ) async throws -> Answer {
            let address =
                "http://127.0.0.1:\(gateway.server.boundPort)/v1/apps/\(stage.app)/customers/\(customer)/\(rest)"
            let response = try await client.send(
                HTTPClientRequest(
                    method, address, headers: ["Authorization": "Bearer backend-backend-backend"], body: body))
            return Answer(status: response.status, json: try JSONValue.parse(response.body))
        }

        /// Who has it now, as the store says.
        func holders(_ lineage: String) async throws -> [String] {
            let id = LineageID(app: AppID(stage.app), environment: .sandbox, originalTransactionID: lineage)
            return try await stage.store.find(id)?.holders.compactMap(\.customer) ?? []
        }
    }

    private func with(
        rabbit: RabbitMQServer? = nil, redis: RedisServer? = nil, _ body: (Desk) async throws -> Void
    ) async throws {
        try await Stage.with(rabbit: rabbit, redis: redis) { stage in
            let folder = try TemporaryFolder("posting")
            var settings = GatewaySettings(spool: SpoolSettings(folder: folder.file("spool"), segmentBytes: 4 << 20))
            settings.http.address = "127.0.0.1:0"
            settings.operations.address = "127.0.0.1:0"
            settings.brokerLimit = .seconds(1)
            settings.claimLimit = .seconds(20)
            settings.keys = [
                BearerKey(name: "backend", key: "backend-backend-backend", scopes: [.read, .write])
            ]
            let app = AppID(stage.app)
            let map = ProductMap(version: "1", products: ["pro.month": .init(entitlements: ["pro"])])
            let loop = try EventLoop(name: "posting")
            let clock = WallClock { Forge.now }
            let cache = EntitlementCache(
                settings: CacheSettings(), redis: stage.redisSettings.connector(loop: loop),
                rules: [app: AppRules(products: map)], metrics: Metrics(), log: .discarding, clock: clock)
            let gateway = try Gateway(
                settings: settings, broker: stage.broker, apps: [app], judge: try Forge.verifier().judge,
                purchaseJudge: PurchaseVerifier(try Forge.verifier().verifier).judge([app: Forge.identity]),
                store: GatewayStore(stage.store, rules: [:]) { [redis = stage.redis] in redis.isConnected },
                cache: cache, clock: clock, metrics: Metrics(), log: .discarding)
            let services: [any Service] = [cache] + gateway.services
            for service in services { try await service.start() }
            let client = HTTPClient(loop: loop)
            let result: Result<Void, any Error>
            do {
                try await body(Desk(stage: stage, gateway: gateway, client: client))
                result = .success(())
            } catch { result = .failure(error) }
            await client.close()
            for service in services.reversed() { await service.drain() }
            loop.stop()
            try result.get()
        }
    }

    @Test("Invariant 6: one purchase posted for two customers at once, again and again, serves exactly one of them")
    func onePurchaseServesOneCustomer() async throws {
        try await with { desk in
            let consumer = try desk.stage.consumer()
            try await consumer.start()
            let purchase = try Forge.transaction(lineage: "100")
            let answers = try await withThrowingTaskGroup { group in
                for number in 0..<12 {
                    let customer = number % 2 == 0 ? "anna" : "ben"
                    group.addTask { (customer, try await desk.post([purchase], for: customer)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let winners = Set(answers.filter { $0.1.status == 200 }.map(\.0))
            #expect(winners.count == 1)
            let claimed = answers.flatMap(\.1.decisions).filter { $0 == "claimed" }
            #expect(claimed.count == 1)
            let winner = try #require(winners.first)
            let loser = winner == "anna" ? "ben" : "anna"
            let statuses = answers.filter { $0.0 == loser }.map(\.1.status)
            #expect(statuses == Array(repeating: 409, count: 6))
            // The answer to a post says what a read says.
            let again = try await desk.post([purchase], for: winner)
            #expect(again.decisions == ["alreadyYours"] && again.hasPro)
            #expect(try await desk.read(winner).hasPro)
            #expect(try await !desk.read(loser).hasPro)

            // All thirteen messages change nothing any more.
            check(
                try await eventually {
                    desk.stage.count("applied") + desk.stage.count("unchanged") >= 13
                })
            await consumer.drain()
            #expect(try await desk.holders("100") == [winner])
            #expect(try await desk.stage.waiting() == 0)
            #expect(try await desk.stage.inspector.messageCount(of: desk.stage.broker.names.quarantine) == 0)
        }
    }

    @Test("Invariant 1: Redis away: the post is kept, and decided when Redis is back")
    func whatIsPostedWhileRedisIsAwayIsDecidedLater() async throws {
        try await RedisServer.withOwn { server in
            try await with(redis: server) { desk in
                let consumer = try desk.stage.consumer()
                try await consumer.start()
                try await server.kill()
                let pending = try await desk.post([try Forge.transaction(lineage: "100")], for: "anna")
                #expect(pending.status == 202)
                #expect(pending.decisions == ["pending"])
                try await server.start()
                check(
                    try await eventually(within: .seconds(60)) {
                        do { return try await desk.read("anna").hasPro } catch { return false }
                    })
                check(try await eventually { desk.stage.count("decided") >= 1 })
                await consumer.drain()
                // The ledger has the post, and what was decided about it.
                let ledger = try await desk.stage.inspector.readLedger(limit: 10)
                let messages = try ledger.map { try PurchaseMessage(decoding: $0.message.body) }
                #expect(messages.first?.decisions.isEmpty == true)
                #expect(messages.last?["100"]?.claim?.customer == "anna")
                #expect(messages.last?["100"]?.claim?.claimedAt == Forge.now)
            }
        }
    }

    @Test("Invariant 1: the broker away: the spool has the post, the answer stands, and the ledger gets it later")
    func whatIsPostedWhileTheBrokerIsAwayIsSpooled() async throws {
        try await RabbitMQServer.withOwn { server in
            try await with(rabbit: server) { desk in
                let purchase = try Forge.transaction(lineage: "100")
                #expect(try await desk.post([purchase], for: "anna").status == 200)
                try await server.kill()
                let second = try await desk.post([try Forge.transaction(lineage: "200")], for: "anna")
                #expect(second.status == 200)
                #expect(second.decisions == ["claimed"] && second.hasPro)
                #expect(desk.gateway.spool.pending >= 1)
                // Undecided it would be pending, and as durable.
                let refused = try await desk.post([purchase], for: "ben")
                #expect(refused.status == 409)
                try await server.start()
                check(try await eventually(within: .seconds(60)) { desk.gateway.spool.pending == 0 })
                let consumer = try desk.stage.consumer()
                try await consumer.start()
                check(
                    try await eventually(within: .seconds(60)) {
                        desk.stage.count("applied") + desk.stage.count("unchanged") >= 3
                    })
                await consumer.drain()
                #expect(try await desk.holders("100") == ["anna"])
                #expect(try await desk.holders("200") == ["anna"])
                let ledger = try await desk.stage.inspector.readLedger(limit: 10)
                let posted = try Set(
                    ledger.flatMap { try PurchaseMessage(decoding: $0.message.body).posted.signedTransactions })
                #expect(posted.count == 2)
            }
        }
    }
}
