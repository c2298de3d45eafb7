import HTTP
import JSON
import Testing
import Time

@testable import Simulator

@Suite(.timeLimit(.minutes(6))) struct ControlAPITests {
    private func account(_ playground: Playground) async throws -> String {
        let created = try await playground.control(.post, "accounts")
        #expect(created.status == 201)
        return try #require(created.json?["account"]?.string)
    }

    @Test func anAccountLivesItsLifeThroughIt() async throws {
        let clock = TestClock()
        try await Playground.with(clock: clock) { playground in
            let account = try await account(playground)
            let bought = try await playground.control(
                .post, "accounts/\(account)/buy", #"{"productId":"premium.monthly"}"#)
            #expect(bought.status == 200)
            #expect(bought.json?["events"]?.array?.first?["event"]?.string == "SUBSCRIBED/INITIAL_BUY")
            #expect(bought.json?["truth"]?.array?.first?["access"]?.bool == true)
            clock.advance(by: Demo.day * 31)
            let cancelled = try await playground.control(.post, "accounts/\(account)/cancel", "{}")
            #expect(cancelled.json?["truth"]?.array?.first?["state"]?.string == "canceled")
            clock.advance(by: Demo.day * 31)
            let truth = try await playground.control(.get, "truth?account=\(account)")
            #expect(truth.json?["truth"]?.array?.first?["state"]?.string == "expired")
            #expect(truth.json?["truth"]?.array?.first?["access"]?.bool == false)
            let names = try await playground.control(.get, "events").json?["events"]?.array?
                .filter { $0["result"] == nil }.map { $0["event"]?.string }
            #expect(
                names == [
                    "account created", "SUBSCRIBED/INITIAL_BUY", "DID_RENEW",
                    "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
                ])
            let page = try await playground.control(.get, "accounts/\(account)")
            #expect(page.json?["transactions"]?.array?.count == 2)
        }
    }

    @Test func everyCommandIsUnderstood() throws {
        let bodies = [
            "buy": #"{"productId":"x"}"#, "change": #"{"productId":"x"}"#, "payment": #"{"fails":true}"#,
            "share": #"{"with":"x"}"#, "raise-price": #"{"price":1}"#, "extend": #"{"days":1}"#,
            "change-seats": #"{"quantity":2}"#, "refund-seats": #"{"count":1}"#, "app-transaction": #"{"exists":true}"#,
            "notify": #"{"type":"X"}"#,
        ]
        for name in StoreCommand.names {
            var body = try ControlBody(Array((bodies[name] ?? "").utf8))
            _ = try StoreCommand(name, &body)
            try body.finish()
        }
    }

    @Test(arguments: [
        ("accounts/ACCOUNT/buy", "{}", 400, "productId"),
        ("accounts/ACCOUNT/buy", #"{"productId":"nothing"}"#, 400, "productId"),
        ("accounts/ACCOUNT/buy", #"{"productId":7}"#, 400, "productId"),
        ("accounts/ACCOUNT/buy", #"{"productId":"coins","quantity":99}"#, 400, "quantity"),
        ("accounts/ACCOUNT/buy", #"{"productId":"coins","quantty":1}"#, 400, "quantty"),
        ("accounts/ACCOUNT/buy", "[]", 400, nil),
        ("accounts/ACCOUNT/buy", "{", 400, nil),
        ("accounts/ACCOUNT/cancel", "{}", 409, "account"),
        ("accounts/ACCOUNT/refund", "{}", 404, "transactionId"),
        ("accounts/ACCOUNT/dance", "{}", 404, "path"),
        ("accounts/00000000-0000-4000-8000-000000000000/cancel", "{}", 404, "account"),
        ("accounts", #"{"account":"me"}"#, 400, "account"),
        ("burst", "{}", 400, "count"),
        ("burst", #"{"count":0}"#, 400, "count"),
        ("burst", #"{"count":1,"productId":"nothing"}"#, 400, "productId"),
        ("nothing", "", 404, "path"),
    ])
    func aMistakeIsAnsweredByAProblemThatNamesTheField(
        _ path: String, _ body: String, _ status: Int, _ field: String?
    ) async throws {
        try await Playground.with { playground in
            let account = try await account(playground)
            let path = path.split(separator: "/").map { $0 == "ACCOUNT" ? account : String($0) }.joined(separator: "/")
            let answer = try await playground.control(.post, path, body)
            #expect(answer.status == status)
            #expect(answer.headers["Content-Type"] == "application/problem+json")
            #expect(answer.json?["field"]?.string == field)
            #expect(answer.json?["detail"]?.string?.isEmpty == false)
        }
    }

    @Test func behavioursAreSetInPartAndReset() async throws {
        try await Playground.with { playground in
            let set = try await playground.control(
                .put, "behaviour", #"{"api":{"failStatus":503,"failPercent":50},"sending":{"duplicatePercent":12.5}}"#)
            #expect(set.json?["api"]?["failStatus"]?.int64 == 503)
            let more = try await playground.control(.put, "behaviour", #"{"api":{"slowMilliseconds":5}}"#)
            #expect(more.json?["api"]?["failStatus"]?.int64 == 503)
            #expect(more.json?["api"]?["slowMilliseconds"]?.int64 == 5)
            #expect(more.json?["sending"]?["duplicatePercent"]?.double == 12.5)
            for (body, field) in [
                (#"{"api":{"failStatus":200}}"#, "failStatus"), (#"{"api":{"dim":true}}"#, "api.dim"),
                (#"{"sending":{"losePercent":101}}"#, "sending.losePercent"), (#"{"other":{}}"#, "other"),
            ] {
                let refused = try await playground.control(.put, "behaviour", body)
                #expect(refused.status == 400)
                #expect(refused.json?["field"]?.string == field)
            }
            let reset = try await playground.control(.put, "behaviour", #"{"reset":true}"#)
            #expect(reset.json?["api"]?["failStatus"]?.int64 == 0)
            #expect(await playground.simulator.sendingBehaviour == SendingBehaviour())
        }
    }

    @Test func callsAreCountedByEndpointAndOutcome() async throws {
        try await Playground.with { playground in
            let id = try await playground.purchase("premium.monthly").transaction.id
            for _ in 0..<2 { #expect(try await playground.api(.get, "v1/subscriptions/\(id)").status == 200) }
            #expect(try await playground.api(.get, "v1/subscriptions/1").status == 404)
            _ = try await playground.control(.put, "behaviour", #"{"api":{"failStatus":500}}"#)
            #expect(try await playground.api(.get, "v1/subscriptions/\(id)").status == 500)
            let calls = try await playground.control(.get, "calls?accounts=true").json
            let statuses = calls?["endpoints"]?["statuses"]
            let counts = ["answered", "refused", "failed", "limited"].map { statuses?[$0]?.int64 }
            #expect(counts == [2, 1, 1, 0])
            #expect(calls?["limits"]?.array?.first?["perSecond"]?.int64 == 50)
            #expect(calls?["lastAnswered"]?.object?.keys.count == 1)
            let all = calls?["seconds"]?.array?.compactMap { $0["calls"]?.int64 }.reduce(0, +)
            #expect(all == 4)
        }
    }

    @Test func aBurstIsCounted() async throws {
        try await Playground.with { playground in
            let answer = try await playground.control(
                .post, "burst", #"{"count":50,"connections":8,"productId":"basic.monthly"}"#)
            #expect(answer.json?["acknowledged"]?.int64 == 50)
            #expect(answer.json?["failed"]?.int64 == 0)
            #expect(answer.json?["acknowledgedNotifications"]?.array?.count == 50)
            let listed = try await playground.control(.get, "notifications?limit=10")
            #expect(listed.json?["notifications"]?.array?.count == 10)
            #expect(listed.json?["notifications"]?.array?.first?["state"]?.string == "delivered")
        }
    }

    @Test func eventsCanBeWaitedFor() async throws {
        try await Playground.with { playground in
            async let waiting = playground.control(.get, "events?after=0&wait=30")
            let account = try await account(playground)
            let first = try await waiting.json?["events"]?.array?.first
            #expect(first?["account"]?.string == account)
            let last = try await playground.control(.get, "events?after=1&wait=0")
            #expect(last.json?["events"]?.array?.isEmpty == true)
            let bad = try await playground.control(.get, "events?limit=0")
            #expect(bad.json?["field"]?.string == "limit")
        }
    }

    @Test func whatThereIsIsListed() async throws {
        try await Playground.with { playground in
            let overview = try await playground.control(.get, "")
            #expect(overview.json?["keyId"]?.string == SimulatorIdentity.defaultKeyID)
            #expect(overview.json?["commands"]?.array?.count == StoreCommand.names.count)
            let products = try await playground.control(.get, "products")
            #expect(products.json?["products"]?.array?.count == Demo.catalog.productIDs.count)
        }
    }
}
