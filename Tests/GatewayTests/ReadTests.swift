import CacheTier
import Entitlements
import HTTP
import JSON
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import Gateway

@Suite("Reads", .timeLimit(.minutes(6)))
struct ReadTests {
    /// A clock that tests set.
    private final class Hands: Sendable {
        private let offset = Mutex(Duration.zero)
        func move(by duration: Duration) { offset.withLock { $0 += duration } }
        var clock: WallClock { WallClock { WallClock.system.now() + self.offset.withLock { $0 } } }
    }

    private let app = AppID(RedisServer.uniqueApp("reads"))
    private let anna = "0000000a-0000-4000-8000-00000000000a"
    private let hands = Hands()
    private let key: HTTPHeaders = ["Authorization": "Bearer reader-reader-reader"]

    private var rules: [AppID: AppRules] {
        let map = ProductMap(
            version: "1", products: ["pro.monthly": .init(entitlements: ["pro"], group: "g", level: 1)])
        return [app: AppRules(products: map)]
    }

    private func run(
        _ server: RedisServer, maps: (any ProductMapSource)? = nil, _ body: (RunningGateway) async throws -> Void
    ) async throws {
        try await withGateway(
            redis: server, rules: rules, maps: maps, clock: hands.clock,
            { settings, _ in
                settings.keys = [
                    BearerKey(name: "reader", key: "reader-reader-reader", scopes: [.read]),
                    BearerKey(name: "support", key: "support-support-support", scopes: [.support]),
                    BearerKey(name: "writer", key: "writer-writer-writer", scopes: [.write]),
                    BearerKey(name: "demo", key: "demo-demo-demo-demo", scopes: [.read], apps: [AppID("demo")]),
                ]
            }, body)
    }

    private func path(_ customer: String, _ query: String = "") -> String {
        "/v1/apps/\(app)/customers/\(customer)/entitlements\(query)"
    }

    /// Stores a period paid from a day ago until `lasting` from now, as the consumer does.
    private func pay(
        _ gateway: RunningGateway, lasting: Duration, transaction: String = "1",
        environment: StoreEnvironment = .production
    ) async throws {
        let loop = try EventLoop(name: "payer")
        let client = RedisClient(name: "payer", settings: gateway.redis, loop: loop)
        await client.start()
        let now = hands.clock.now()
        let lineage = LineageID(app: app, environment: environment, originalTransactionID: "1000")
        let observation = Observation(
            lineage: lineage, source: .notification, signedDate: now,
            transaction: TransactionFact(
                transactionID: transaction, originalTransactionID: "1000", productID: "pro.monthly", signedDate: now,
                purchaseDate: now - .seconds(86_400), expiresDate: now + lasting, type: "Auto-Renewable Subscription",
                subscriptionGroupID: "g", appAccountToken: anna, ownership: "PURCHASED",
                payloadHash: "\(transaction)-\(now.milliseconds)"),
            renewal: RenewalFact(
                originalTransactionID: "1000", signedDate: now, autoRenewProductID: "pro.monthly", autoRenewStatus: 0,
                payloadHash: "r-\(transaction)-\(now.milliseconds)"))
        _ = try await LineageStore(redis: client).apply(observation, cause: .purchase, at: now)
        await client.close()
        loop.stop()
    }

    private func problem(_ response: HTTPClientResponse) throws -> JSONValue {
        #expect(response.headers["Content-Type"] == "application/problem+json")
        return try JSONValue.parse(response.body)
    }

    @Test("Invariant 8: an answer says what a customer has, and how good it is")
    func aPayerIsAnswered() async throws {
        try await run(RedisServer.shared()) { gateway in
            try await pay(gateway, lasting: .seconds(30 * 86_400))
            let response = try await gateway.get(path(anna), headers: key)
            #expect(response.status == 200)
            #expect(response.headers["Content-Type"] == "application/json")
            #expect(response.headers["Holdfast-Service-Level"] == "S")
            #expect(response.headers["Cache-Control"] == "private, max-age=10")
            #expect(response.headers["Correlation-ID"]?.utf8.count == 32)
            let json = try JSONValue.parse(response.body)
            #expect(json["app"]?.string == app.rawValue)
            #expect(json["customer"]?.string == anna)
            #expect(json["environment"]?.string == "production")
            #expect(json["revision"]?.int64 == 1)
            #expect(json["service"]?["level"]?.string == "S")
            #expect(json["service"]?["source"]?.string == "redis")
            #expect(json["entitlements"]?.array?.first?["id"]?.string == "pro")
            #expect(json["entitlements"]?.array?.first?["active"]?.bool == true)
            #expect(json["subscriptions"]?.array?.first?["state"]?.string == "canceled")
            // Anybody who types the token as Swift prints it means the same customer.
            let again = try await gateway.get(path(anna.uppercased()), headers: key)
            #expect(try JSONValue.parse(again.body)["customer"]?.string == anna)
            let text = String(decoding: try await gateway.operations("/metrics").body, as: UTF8.self)
            #expect(
                text.contains("holdfast_reads_total{app=\"\(app)\",environment=\"production\",level=\"S\"} 2"))
        }
    }

    /// A product map that tests change.
    private final class Map: ProductMapSource {
        private let inForce: Mutex<ProductMapInForce>
        init(_ map: ProductMap) { inForce = Mutex(ProductMapInForce(map: map, generation: 1)) }
        func current(of app: AppID) -> ProductMapInForce? { inForce.withLock { $0 } }
        func set(_ products: [String: ProductMap.Product]) {
            inForce.withLock {
                $0 = ProductMapInForce(
                    map: ProductMap(version: "2", products: products), generation: $0.generation + 1)
            }
        }
    }

    @Test("Invariant 9: another product map is in the next answer, and its tag says so")
    func anotherProductMapIsInTheNextAnswer() async throws {
        let map = Map(ProductMap(version: "1", products: ["pro.monthly": .init(entitlements: ["pro"])]))
        try await run(RedisServer.shared(), maps: map) { gateway in
            try await pay(gateway, lasting: .seconds(30 * 86_400))
            let first = try await gateway.get(path(anna), headers: key)
            let tag = try #require(first.headers["ETag"])
            var again = key
            again.append("If-None-Match", tag)
            #expect(try await gateway.get(path(anna), headers: again).status == 304)

            // A map that changes nothing for this customer leaves the tag as it is.
            map.set(["pro.monthly": .init(entitlements: ["pro"]), "other": .init(entitlements: ["other"])])
            #expect(try await gateway.get(path(anna), headers: again).status == 304)

            map.set(["pro.monthly": .init(entitlements: ["pro", "export"])])
            let other = try await gateway.get(path(anna), headers: again)
            #expect(other.status == 200)
            #expect(other.headers["ETag"] != tag)
            let ids = try JSONValue.parse(other.body)["entitlements"]?.array?.compactMap { $0["id"]?.string }
            #expect(ids == ["export", "pro"])
        }
    }

    @Test("Invariant 7: a read of one environment sees nothing of the other")
    func environmentsAreApart() async throws {
        try await run(RedisServer.shared()) { gateway in
            try await pay(gateway, lasting: .seconds(86_400), environment: .sandbox)
            let production = try JSONValue.parse(try await gateway.get(path(anna), headers: key).body)
            #expect(production["entitlements"]?.array?.isEmpty == true)
            let sandbox = try JSONValue.parse(
                try await gateway.get(path(anna, "?environment=sandbox"), headers: key).body)
            #expect(sandbox["environment"]?.string == "sandbox")
            #expect(sandbox["entitlements"]?.array?.count == 1)
        }
    }

    @Test func aCustomerNobodyKnowsHasAnEmptyAnswer() async throws {
        try await run(RedisServer.shared()) { gateway in
            let response = try await gateway.get(path("some%20body%2F%C3%A9"), headers: key)
            #expect(response.status == 200)
            // A purchase may be on its way.
            #expect(response.headers["Cache-Control"] == "private, max-age=0")
            let json = try JSONValue.parse(response.body)
            #expect(json["customer"]?.string == "some body/é")
            #expect(json["revision"]?.int64 == 0)
            #expect(json["entitlements"]?.array?.isEmpty == true)
            #expect(json["subscriptions"]?.array?.isEmpty == true)
        }
    }

    @Test("Invariant 9: a tag holds until something changes, be it only the time")
    func tags() async throws {
        try await run(RedisServer.shared()) { gateway in
            try await pay(gateway, lasting: .seconds(3600))
            let first = try await gateway.get(path(anna), headers: key)
            let tag = try #require(first.headers["ETag"])
            var conditional = key
            conditional.append("If-None-Match", "\"other\", \(tag)")
            let same = try await gateway.get(path(anna), headers: conditional)
            #expect(same.status == 304)
            #expect(same.body.isEmpty)
            #expect(same.headers["ETag"] == tag)
            #expect(same.headers["Holdfast-Service-Level"] == "S")

            hands.move(by: .seconds(3593))
            let soon = try await gateway.get(path(anna), headers: conditional)
            #expect(soon.status == 304)
            let ageText = soon.headers["Cache-Control"]?.split(separator: "=").last ?? ""
            let age = try #require(Int(ageText))
            #expect(age <= 7)

            hands.move(by: .seconds(3600))
            let expired = try await gateway.get(path(anna), headers: conditional)
            #expect(expired.status == 200)
            #expect(expired.headers["ETag"] != tag)
            let json = try JSONValue.parse(expired.body)
            #expect(json["revision"]?.int64 == 1)
            #expect(json["entitlements"]?.array?.first?["active"]?.bool == false)

            // A renewal comes through the change feed.
            try await pay(gateway, lasting: .seconds(86_400), transaction: "2")
            check(
                try await eventually {
                    let json = try JSONValue.parse(try await gateway.get(path(anna), headers: key).body)
                    return json["entitlements"]?.array?.first?["active"]?.bool == true
                })
        }
    }

    @Test("Invariant 5: with Redis gone, whoever is in memory is answered, and nobody is said to have nothing")
    func withoutRedis() async throws {
        try await RedisServer.withOwn { server in
            try await run(server) { gateway in
                try await pay(gateway, lasting: .seconds(86_400))
                let before = try await gateway.get(path(anna), headers: key)
                #expect(before.status == 200)
                try await server.kill()
                let known = try await gateway.get(path(anna), headers: key)
                #expect(known.status == 200)
                let json = try JSONValue.parse(known.body)
                #expect(json["entitlements"]?.array?.first?["active"]?.bool == true)
                #expect(json["service"]?["source"]?.string == "memory")

                let unknown = try await gateway.get(path("somebody"), headers: key)
                #expect(unknown.status == 503)
                #expect(unknown.headers["Retry-After"] == "1")
                let notKnown = try problem(unknown)
                #expect(notKnown["type"]?.string == "urn:holdfast:problem:customer-not-known-now")
                #expect(notKnown["entitlements"] == nil)
                #expect(notKnown["service"]?["level"]?.string == "A")
                #expect(notKnown["service"]?["reason"]?.string == "storeSilent")
                #expect(notKnown["service"]?["source"]?.isNull == true)
                #expect(notKnown["service"]?["asOf"]?.string != nil)
                #expect(unknown.headers["Holdfast-Service-Level"] == "A")
                let support: HTTPHeaders = ["Authorization": "Bearer support-support-support"]
                let explanation = "/v1/apps/\(app)/customers/somebody/explanation"
                let unexplained = try await gateway.get(explanation, headers: support)
                #expect(unexplained.status == 503)
                #expect(try problem(unexplained)["type"]?.string == notKnown["type"]?.string)
                #expect(try problem(unexplained)["service"]?["level"]?.string == "A")
                #expect(gateway.counter("holdfast_reads_failed_total", ["app": app.rawValue]) == 1)
                // Reads do not decide whether Apple is sent here.
                let ready = try await gateway.operations("/readyz")
                #expect(ready.status == 200)
                try await server.start()
                check(
                    try await eventually { try await gateway.get(path("somebody"), headers: key).status == 200 })
            }
        }
    }

    @Test("Invariant 4: a read of the past is evaluated then, by what is known now")
    func aReadOfThePast() async throws {
        try await run(RedisServer.shared()) { gateway in
            try await pay(gateway, lasting: .seconds(3600))
            func active(at offset: Duration) async throws -> Bool? {
                let instant = (hands.clock.now() + offset).rfc3339
                let response = try await gateway.get(path(anna, "?at=\(instant)"), headers: key)
                #expect(response.status == 200)
                #expect(response.headers["Cache-Control"] == "private, max-age=0")
                return try JSONValue.parse(response.body)["entitlements"]?.array?.first?["active"]?.bool
            }
            #expect(try await active(at: .seconds(-3600)) == true)
            #expect(try await active(at: .seconds(7200)) == false)
            // Two days ago nothing had begun.
            #expect(try await active(at: .seconds(-2 * 86_400)) == nil)
            // Who asked about other times has not changed what is answered about now.
            let now = try JSONValue.parse(try await gateway.get(path(anna), headers: key).body)
            #expect(now["entitlements"]?.array?.first?["active"]?.bool == true)
        }
    }

    @Test func supportIsToldWhy() async throws {
        try await run(RedisServer.shared()) { gateway in
            try await pay(gateway, lasting: .seconds(3600))
            let support: HTTPHeaders = ["Authorization": "Bearer support-support-support"]
            func explanation(_ query: String) async throws -> JSONValue {
                let path = "/v1/apps/\(app)/customers/\(anna)/explanation\(query)"
                let response = try await gateway.get(path, headers: support)
                #expect(response.status == 200)
                #expect(response.headers["Holdfast-Service-Level"] == "S")
                return try JSONValue.parse(response.body)
            }
            let now = try await explanation("?entitlement=pro")
            #expect(now["access"]?.bool == true)
            #expect(now["customer"]?.string == anna)
            #expect(now["service"]?["source"]?.string == "redis")
            #expect(now["explanation"]?.string?.hasPrefix("Has pro until ") == true)
            #expect(now["lineages"]?.array?.first?["facts"]?.array?.isEmpty == false)
            #expect(now["lineages"]?.array?.first?["history"] == nil)
            let told = try await explanation("?history=true")
            let history = try #require(told["lineages"]?.array?.first?["history"]?.array)
            let states = history.compactMap { $0["kind"]?.string == "transition" ? $0["to"]?.string : nil }
            #expect(states == ["canceled"])
            let later = try await explanation("?at=\((hands.clock.now() + .seconds(7200)).rfc3339)&entitlement=pro")
            #expect(later["access"]?.bool == false)
            #expect(later["explanation"]?.string?.hasPrefix("Does not have pro since ") == true)

            let path = "/v1/apps/\(app)/customers/\(anna)/explanation"
            let denied = try await gateway.get(path, headers: key)
            #expect(denied.status == 403)
            let mistaken = try await gateway.get(path + "?entitlement=", headers: support)
            #expect(mistaken.status == 400)
            #expect(try problem(mistaken)["parameter"]?.string == "entitlement")
        }
    }

    @Test func whoMayNotReadIsToldWhy() async throws {
        try await run(RedisServer.shared()) { gateway in
            let without = try await gateway.get(path(anna))
            #expect(without.status == 401)
            #expect(without.headers["WWW-Authenticate"] == "Bearer")
            #expect(try problem(without)["type"]?.string == "urn:holdfast:problem:unauthenticated")
            let wrong = try await gateway.get(path(anna), headers: ["Authorization": "Bearer nobody-nobody-nobody"])
            #expect(wrong.status == 401)
            for other in ["writer-writer-writer", "demo-demo-demo-demo"] {
                let denied = try await gateway.get(path(anna), headers: ["Authorization": "Bearer \(other)"])
                #expect(denied.status == 403)
                #expect(denied.headers["WWW-Authenticate"]?.contains("insufficient_scope") == true)
            }
            let elsewhere = try await gateway.get("/v1/apps/nobody/customers/1/entitlements", headers: key)
            #expect(elsewhere.status == 404)
            #expect(try problem(elsewhere)["type"]?.string == "urn:holdfast:problem:unknown-app")
            let post = try await gateway.post([], to: path(anna), headers: key)
            #expect(post.status == 405)
            #expect(post.headers["Allow"] == "GET")
            #expect(try await gateway.get("/v1/apps/demo/customers", headers: key).status == 404)
        }
    }

    @Test(
        arguments: [
            ("anna", "?enviroment=sandbox", "bad-parameter", "enviroment"),
            ("anna", "?environment=xcode", "bad-parameter", "environment"),
            ("anna", "?environment=sandbox&environment=sandbox", "bad-parameter", "environment"),
            ("anna", "?environment", "bad-parameter", "environment"),
            ("anna", "?at=yesterday", "bad-parameter", "at"),
            ("anna", "?entitlement=pro", "bad-parameter", "entitlement"),
            ("anna", "?at=%FF", "bad-parameter", "at"),
            ("", "", "bad-customer", nil),
            ("a%0Ab", "", "bad-customer", nil),
            ("a%C2%85b", "", "bad-customer", nil),
            (String(repeating: "a", count: 257), "", "bad-customer", nil),
            ("a%FFb", "", "bad-path", nil),
        ] as [(String, String, String, String?)])
    func mistakesAreNamed(_ customer: String, _ query: String, _ name: String, _ parameter: String?) async throws {
        // Nothing of this asks Redis.
        try await withGateway(
            rules: rules,
            { settings, _ in
                settings.keys = [BearerKey(name: "reader", key: "reader-reader-reader", scopes: [.read])]
            }
        ) { gateway in
            let response = try await gateway.get(path(customer, query), headers: key)
            #expect(response.status == 400)
            let json = try problem(response)
            #expect(json["type"]?.string == "urn:holdfast:problem:\(name)")
            #expect(json["parameter"]?.string == parameter)
        }
    }
}
