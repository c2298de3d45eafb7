import AppStore
import Broker
import CacheTier
import Entitlements
import HTTP
import JSON
import Redis
import Runtime
import Simulator
import TestSupport
import Testing
import Time

@testable import Gateway

/// Reads that want Apple to be asked, on real servers, with the simulator for Apple.
@Suite("Refresh", .timeLimit(.minutes(6)))
struct RefreshTests {
    private let key: HTTPHeaders = ["Authorization": "Bearer reader-reader-reader"]

    private func run(
        broker: RabbitMQServer? = nil, redis: RedisServer, apple: SimulatedApple, source: RefreshSource? = nil,
        _ adjust: (inout RefreshSettings) -> Void = { _ in }, _ body: (RunningGateway) async throws -> Void
    ) async throws {
        // Nobody's machine is so slow that the simulator does not answer within this.
        var refresh = RefreshSettings()
        refresh.timeout = .seconds(60)
        adjust(&refresh)
        try await withGateway(
            broker, redis: redis, rules: apple.rules, refresh: source ?? apple.source, clock: apple.hands.clock,
            { settings, _ in
                settings.refresh = refresh
                settings.keys = [
                    BearerKey(name: "reader", key: "reader-reader-reader", scopes: [.read]),
                    BearerKey(name: "writer", key: "writer-writer-writer", scopes: [.write]),
                ]
            }, body)
    }

    private func read(
        _ gateway: RunningGateway, _ apple: SimulatedApple, _ query: String = "?refresh=true",
        customer: String = SimulatedApple.customer
    ) async throws -> JSONValue {
        let response = try await gateway.get(
            "/v1/apps/\(apple.app)/customers/\(customer)/entitlements\(query)", headers: key)
        #expect(response.status == 200)
        return try JSONValue.parse(response.body)
    }

    private func refresh(_ json: JSONValue) -> [String] {
        let note = json["service"]?["refresh"]
        return [note?["result"]?.string ?? "-", note?["reason"]?.string ?? "-"]
    }

    private func state(_ json: JSONValue) -> String? { json["subscriptions"]?.array?.first?["state"]?.string }

    private func isPending(_ json: JSONValue) -> Bool? {
        json["subscriptions"]?.array?.first?["pendingVerification"]?.bool
    }

    private func isActive(_ json: JSONValue, _ entitlement: String = "premium") -> Bool? {
        json["entitlements"]?.array?.first { $0["id"]?.string == entitlement }?["active"]?.bool
    }

    /// The end of what was bought is an hour ago, and nobody told.
    private func letItEnd(_ record: LineageRecord, _ apple: SimulatedApple) throws {
        apple.hands.move(to: try #require(record.transactions.last?.expiresDate) + .seconds(3600))
    }

    private func statuses(_ gateway: RunningGateway) async throws -> [StatusMessage] {
        try await gateway.takeApplied().map { delivery in
            #expect(delivery.message.headers["kind"] == StatusMessage.kind)
            return try StatusMessage(decoding: delivery.message.body, app: AppID(delivery.message.headers["app"] ?? ""))
        }
    }

    enum Fate: String, CaseIterable, Sendable {
        case renewed, canceled, unpaid
    }

    @Test("Invariant 5: what is held is settled by a refresh, and the answer is durable", arguments: Fate.allCases)
    func whatIsHeldIsSettled(fate: Fate) async throws {
        let (rabbit, redis) = (try await RabbitMQServer.shared(), try await RedisServer.shared())
        try await SimulatedApple.with { apple in
            try await run(broker: rabbit, redis: redis, apple: apple) { gateway in
                let bought = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                switch fate {
                case .renewed: break
                case .canceled: _ = try await apple.simulator.perform(.cancel(), for: SimulatedApple.customer)
                case .unpaid:
                    _ = try await apple.simulator.perform(
                        .payment(fails: true, grace: false), for: SimulatedApple.customer)
                }
                try letItEnd(bought, apple)
                let before = try await read(gateway, apple, "")
                #expect(state(before) == "hold")
                #expect(isPending(before) == true)
                #expect(before["service"]?["refresh"] == nil)

                let after = try await read(gateway, apple)
                #expect(refresh(after) == ["done", "-"])
                #expect(after["service"]?["refresh"]?["asked"]?.int64 == 1)
                #expect(after["service"]?["refresh"]?["answered"]?.int64 == 1)
                let settled = ["renewed": "active", "canceled": "expired", "unpaid": "billingRetry"][fate.rawValue]
                #expect(state(after) == settled)
                #expect(isPending(after) == false)
                #expect(isActive(after) == (fate == .renewed))
                // Somebody waited for it, so it went first.
                #expect(apple.calls.all == [.sweep, .support])

                let kept = try await statuses(gateway)
                let message = try #require(kept.first)
                #expect(kept.count == 1)
                #expect(message.purpose == .refresh)
                #expect(message.question.lineage == bought.lineage)
                #expect(gateway.spool.pending == 0)
            }
        }
    }

    @Test("Invariant 1: without RabbitMQ, what Apple said is in the spool before anybody is told")
    func withoutABrokerItIsInTheSpool() async throws {
        let redis = try await RedisServer.shared()
        try await SimulatedApple.with { apple in
            try await run(redis: redis, apple: apple) { gateway in
                let bought = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                _ = try await apple.simulator.perform(.cancel(), for: SimulatedApple.customer)
                try letItEnd(bought, apple)
                let after = try await read(gateway, apple)
                #expect(refresh(after) == ["done", "-"])
                #expect(state(after) == "expired")
                #expect(gateway.spool.pending == 1)
            }
        }
    }

    @Test func aRefundOfAOneTimePurchaseIsHeardOf() async throws {
        let redis = try await RedisServer.shared()
        try await SimulatedApple.with { apple in
            try await run(redis: redis, apple: apple) { gateway in
                let lifetime = try await apple.buy("demo.lifetime", redis: gateway.redis)
                _ = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                // Gives nothing, so nobody is asked about it.
                _ = try await apple.buy("demo.coins", redis: gateway.redis)
                _ = try await apple.simulator.perform(
                    .refund(transaction: lifetime.transactions.last?.transactionID), for: SimulatedApple.customer)
                #expect(try await isActive(read(gateway, apple, ""), "lifetime") == true)
                let after = try await read(gateway, apple)
                #expect(refresh(after) == ["done", "-"])
                #expect(after["service"]?["refresh"]?["asked"]?.int64 == 2)
                #expect(isActive(after, "lifetime") == false)
                #expect(isActive(after) == true)
                #expect(gateway.spool.pending == 2)
            }
        }
    }

    @Test func manyAtOnceShareOneAskingAndSoDoesWhoComesSoonAfter() async throws {
        let redis = try await RedisServer.shared()
        try await SimulatedApple.with { apple in
            try await run(redis: redis, apple: apple, { $0.again = .seconds(600) }) { gateway in
                _ = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                var slow = APIBehaviour()
                slow.slowMilliseconds = 500
                await apple.simulator.setBehaviour(api: slow)
                // Who is late finds what was answered a moment ago.
                let answers = try await withThrowingTaskGroup(of: JSONValue.self) { group in
                    for _ in 0..<20 { group.addTask { try await read(gateway, apple) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.count == 20)
                for answer in answers { #expect(refresh(answer).first == "done") }
                let late = try await read(gateway, apple)
                #expect(refresh(late) == ["done", "recent"])
                #expect(late["service"]?["refresh"]?["askedAt"]?.string != nil)
                #expect(apple.calls.all.count == 2)
                #expect(gateway.spool.pending == 1)
            }
        }
    }

    @Test func onceTheTimeIsOverAppleIsAskedAgain() async throws {
        let redis = try await RedisServer.shared()
        try await SimulatedApple.with { apple in
            try await run(redis: redis, apple: apple, { $0.again = .zero }) { gateway in
                _ = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                #expect(try await refresh(read(gateway, apple)) == ["done", "-"])
                #expect(try await refresh(read(gateway, apple)) == ["done", "-"])
                #expect(apple.calls.all.count == 3)
            }
        }
    }

    @Test("Invariant 5: whoever waits for Apple in vain has the usual answer, and what Apple says later is kept")
    func theDeadlineHolds() async throws {
        let redis = try await RedisServer.shared()
        try await SimulatedApple.with { apple in
            try await run(redis: redis, apple: apple, { $0.timeout = .milliseconds(100) }) { gateway in
                let bought = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                _ = try await apple.simulator.perform(.cancel(), for: SimulatedApple.customer)
                try letItEnd(bought, apple)
                var slow = APIBehaviour()
                slow.slowMilliseconds = 5000
                await apple.simulator.setBehaviour(api: slow)
                let inVain = try await read(gateway, apple)
                #expect(refresh(inVain) == ["failed", "timeout"])
                #expect(state(inVain) == "hold")
                #expect(isActive(inVain) == true)
                // Other reads have not waited, and do not.
                #expect(try await state(read(gateway, apple, "")) == "hold")
                check(try await eventually { gateway.spool.pending == 1 })
                let settled = try await eventually { try await state(read(gateway, apple)) == "expired" }
                #expect(settled)
            }
        }
    }

    @Test func aFailingAppleIsNamed() async throws {
        let redis = try await RedisServer.shared()
        try await SimulatedApple.with { apple in
            try await run(redis: redis, apple: apple, { $0.again = .zero }) { gateway in
                let bought = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                try letItEnd(bought, apple)
                var behaviour = APIBehaviour()
                behaviour.failStatus = 500
                await apple.simulator.setBehaviour(api: behaviour)
                let failed = try await read(gateway, apple)
                #expect(refresh(failed) == ["failed", "appleFailed"])
                #expect(state(failed) == "hold")
                behaviour = APIBehaviour()
                behaviour.refusesTokens = true
                await apple.simulator.setBehaviour(api: behaviour)
                #expect(try await refresh(read(gateway, apple)) == ["failed", "keyRefused"])
                // Known to be out of reach, Apple is not even asked.
                let calls = apple.calls.all.count
                apple.say(.unreachable)
                #expect(try await refresh(read(gateway, apple)) == ["failed", "appleUnreachable"])
                #expect(apple.calls.all.count == calls)
                #expect(gateway.spool.pending == 0)
            }
        }
    }

    @Test("Invariant 2: an answer of Apple's that is not to be used is kept all the same")
    func anUnusableAnswerIsKept() async throws {
        let redis = try await RedisServer.shared()
        try await SimulatedApple.with { apple in
            let stranger = RefreshSource { _, _ in
                apple.inquiry(for: AppIdentity(bundleID: "com.example.other", appAppleID: 1))
            }
            try await run(redis: redis, apple: apple, source: stranger) { gateway in
                let bought = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                try letItEnd(bought, apple)
                let json = try await read(gateway, apple)
                #expect(refresh(json) == ["failed", "unusable"])
                #expect(state(json) == "hold")
                #expect(gateway.spool.pending == 1)
            }
        }
    }

    @Test func moreThanOneRefreshAsksAboutIsSaid() async throws {
        let redis = try await RedisServer.shared()
        try await SimulatedApple.with { apple in
            try await run(redis: redis, apple: apple, { $0.lineages = 1 }) { gateway in
                _ = try await apple.buy("demo.lifetime", redis: gateway.redis)
                let subscription = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                try letItEnd(subscription, apple)
                let json = try await read(gateway, apple)
                #expect(refresh(json) == ["partly", "tooMany"])
                // What is pending comes first.
                #expect(state(json) == "active")
            }
        }
    }

    @Test func whereThereIsNothingToAskItIsSaid() async throws {
        let redis = try await RedisServer.shared()
        try await SimulatedApple.with { apple in
            try await run(redis: redis, apple: apple) { gateway in
                let nobody = try await read(gateway, apple, customer: "nobody")
                #expect(refresh(nobody) == ["notPossible", "noPurchases"])
                #expect(nobody["entitlements"]?.array?.isEmpty == true)
                let sandbox = try await read(gateway, apple, "?refresh=true&environment=sandbox")
                #expect(refresh(sandbox) == ["notPossible", "noKey"])
                let plain = try await read(gateway, apple, "?refresh=false", customer: "nobody")
                #expect(plain["service"]?["refresh"] == nil)
                let path = "/v1/apps/\(apple.app)/customers/anna/entitlements?refresh="
                #expect(try await gateway.get(path + "yes", headers: key).status == 400)
                let writer: HTTPHeaders = ["Authorization": "Bearer writer-writer-writer"]
                #expect(try await gateway.get(path + "true", headers: writer).status == 403)
            }
            try await run(redis: redis, apple: apple, source: RefreshSource.none) { gateway in
                let keyless = try await read(gateway, apple)
                #expect(refresh(keyless) == ["notPossible", "noKey"])
            }
        }
    }

    @Test func whoWantsAppleAskedIsNotToldThatNothingIsNew() async throws {
        let redis = try await RedisServer.shared()
        try await SimulatedApple.with { apple in
            try await run(redis: redis, apple: apple) { gateway in
                _ = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                let path = "/v1/apps/\(apple.app)/customers/\(SimulatedApple.customer)/entitlements"
                let plain = try await gateway.get(path, headers: key)
                var conditional = key
                conditional.append("If-None-Match", try #require(plain.headers["ETag"]))
                #expect(try await gateway.get(path, headers: conditional).status == 304)
                let asked = try await gateway.get(path + "?refresh=true", headers: conditional)
                #expect(asked.status == 200)
                #expect(asked.headers["Cache-Control"] == "private, max-age=0")
            }
        }
    }

    @Test("Invariant 8: with Redis gone, a refresh answers by memory and Apple, or says that the customer is not known")
    func withRedisGone() async throws {
        try await RedisServer.withOwn { redis in
            try await SimulatedApple.with { apple in
                try await run(redis: redis, apple: apple) { gateway in
                    let bought = try await apple.buy("demo.premium.monthly", redis: gateway.redis)
                    _ = try await apple.simulator.perform(.cancel(), for: SimulatedApple.customer)
                    try letItEnd(bought, apple)
                    #expect(try await state(read(gateway, apple, "")) == "hold")
                    try await redis.kill()
                    let after = try await read(gateway, apple)
                    #expect(refresh(after) == ["done", "-"])
                    #expect(state(after) == "expired")
                    #expect(after["service"]?["source"]?.string == "memory")
                    let path = "/v1/apps/\(apple.app)/customers/nobody/entitlements?refresh=true"
                    let unknown = try await gateway.get(path, headers: key)
                    #expect(unknown.status == 503)
                    #expect(
                        try JSONValue.parse(unknown.body)["type"]?.string
                            == "urn:holdfast:problem:customer-not-known-now")
                }
            }
        }
    }
}
