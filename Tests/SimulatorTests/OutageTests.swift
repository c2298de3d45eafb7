import HTTP
import JSON
import TestSupport
import Testing
import Time

@testable import Simulator

/// The Server API at its worst, and under its limits.
@Suite(.timeLimit(.minutes(6))) struct OutageTests {
    private func set(_ playground: Playground, _ api: String) async throws {
        let answer = try await playground.control(.put, "behaviour", #"{"reset":true,"api":{\#(api)}}"#)
        #expect(answer.status == 200)
    }

    @Test(arguments: [4_040_002, 4_040_004, 4_040_006, 5_000_000, 5_000_001, 4_290_000, 4_030_028, 4_090_000])
    func anyOfApplesErrorsIsAnsweredOnDemand(_ code: Int) async throws {
        try await Playground.with { playground in
            let id = try await playground.purchase("coins").transaction.id
            try await set(playground, #""failCode":\#(code)"#)
            let answer = try await playground.api(.get, "v1/transactions/\(id)")
            #expect(answer.status == code / 10_000)
            #expect(answer.json?["errorCode"]?.int64 == Int64(code))
            #expect((answer.headers["Retry-After"] != nil) == (code == 4_290_000))
        }
    }

    @Test func aFailureEndsAfterSoManyRequests() async throws {
        try await Playground.with { playground in
            let id = try await playground.purchase("coins").transaction.id
            try await set(playground, #""failStatus":502,"failFirst":2"#)
            var statuses: [Int] = []
            for _ in 0..<3 { statuses.append(try await playground.api(.get, "v1/transactions/\(id)").status) }
            #expect(statuses == [502, 502, 200])
        }
    }

    @Test func aBodyBreaksOffAndAConnectionCloses() async throws {
        try await Playground.with { playground in
            let id = try await playground.purchase("coins").transaction.id
            for behaviour in [#""truncatePercent":100"#, #""dropPercent":100"#] {
                try await set(playground, behaviour)
                await #expect(throws: HTTPClientError.self) {
                    try await playground.api(.get, "v1/transactions/\(id)")
                }
            }
            try await set(playground, "")
            #expect(try await playground.api(.get, "v1/transactions/\(id)").status == 200)
        }
    }

    @Test func aHistoryPageIsMalformed() async throws {
        try await Playground.with { playground in
            let id = try await playground.purchase("coins").transaction.id
            try await set(playground, #""malformed":"appAppleId""#)
            let wrongType = try await playground.api(.get, "v2/history/\(id)")
            #expect(wrongType.json?["appAppleId"]?.string == "blue")
            try await set(playground, #""malformed":"environment""#)
            let unknown = try await playground.api(.get, "v2/history/\(id)")
            #expect(unknown.json?["environment"]?.string == "Productionxxx")
            #expect(unknown.json?["signedTransactions"]?.array?.count == 1)
        }
    }

    @Test func aClockThatIsBehindFindsTokensIssuedInTheFuture() async throws {
        try await Playground.with { playground in
            let id = try await playground.purchase("coins").transaction.id
            try await set(playground, #""clockSkewMilliseconds":-600000"#)
            let refused = try await playground.api(.get, "v1/transactions/\(id)")
            #expect(refused.status == 401)
            #expect(refused.json == nil)
            let early = "Bearer \(try playground.token(at: playground.now - .seconds(600)))"
            let began = ContinuousClock.now
            let answer = try await playground.api(.get, "v1/transactions/\(id)", authorization: early)
            #expect(answer.status == 200)
            let text = try #require(answer.headers["Date"])
            let date = try #require(HTTPDate.timestamp(of: text))
            let behind = playground.now - date
            #expect(behind > .seconds(595) && behind < .seconds(605) + (.now - began))
        }
    }

    @Test func anAppThatWasNeverReleasedGets401() async throws {
        try await Playground.with { playground in
            try await set(playground, #""refusesTokens":true"#)
            let answer = try await playground.api(.get, "v1/transactions/1")
            #expect(answer.status == 401)
            #expect(answer.json == nil)
        }
    }

    @Test(arguments: [
        (StoreSettings.Environment.production, "GET", "v1/transactions/1", 50),
        (.production, "PUT", "v1/subscriptions/extend/1", 20), (.production, "GET", "v1/lookup/M1", 10),
        (.production, "POST", "v1/notifications/test", 1), (.sandbox, "GET", "v2/history/1", 5),
        (.sandbox, "PUT", "v1/transactions/1/appAccountToken", 2), (.sandbox, "GET", "v2/refund/lookup/1", 1),
    ])
    func eachGroupOfEndpointsHasItsLimit(
        _ environment: StoreSettings.Environment, _ method: String, _ path: String, _ limit: Int
    ) async throws {
        let clock = TestClock()
        try await Playground.with(StoreSettings(environment: environment), clock: clock) { playground in
            try await set(playground, #""limits":true"#)
            let method = try #require(HTTPClientRequest.Method(rawValue: method))
            for _ in 0..<limit { #expect(try await playground.api(method, path).status != 429) }
            let limited = try await playground.api(method, path)
            #expect(limited.status == 429)
            #expect(limited.json?["errorCode"]?.int64 == 4_290_000)
            #expect(limited.headers["Retry-After"] == String((clock.now + .seconds(1)).milliseconds))
            // Another group has a budget of its own.
            let other = limit == 50 || limit == 5 ? "v1/lookup/M1" : "v1/transactions/1"
            #expect(try await playground.api(.get, other).status != 429)
            clock.advance(by: .seconds(1))
            #expect(try await playground.api(method, path).status != 429)
        }
    }

    @Test func limitAndWindowAreSet() async throws {
        let clock = TestClock()
        try await Playground.with(StoreSettings(environment: .sandbox), clock: clock) { playground in
            // A tenth of one a second is one in ten seconds, and 360 an hour.
            try await set(playground, #""limits":true"#)
            #expect(try await playground.api(.post, "v1/notifications/test").status == 200)
            let limited = try await playground.api(.post, "v1/notifications/test")
            #expect(limited.headers["Retry-After"] == String((clock.now + .seconds(10)).milliseconds))
            try await set(playground, #""limits":true,"limitWindowMilliseconds":3600000,"limitPercent":1"#)
            for _ in 0..<3 { #expect(try await playground.api(.post, "v1/notifications/test").status == 200) }
            let hourly = try await playground.api(.post, "v1/notifications/test")
            #expect(hourly.status == 429)
            let hour = clock.now.milliseconds / 3_600_000 * 3_600_000
            #expect(hourly.headers["Retry-After"] == String(hour + 3_600_000))
        }
    }

    @Test func anOutageConcernsTheEndpointsThatItNames() async throws {
        try await Playground.with { playground in
            let id = try await playground.purchase("coins").transaction.id
            try await set(
                playground, #""outages":[{"kind":"error","status":503,"endpoints":["statuses","historyV2"]}]"#)
            #expect(try await playground.api(.get, "v1/subscriptions/\(id)").status == 503)
            #expect(try await playground.api(.get, "v2/history/\(id)").status == 503)
            #expect(try await playground.api(.get, "v1/history/\(id)").status == 200)
            #expect(try await playground.api(.get, "v1/transactions/\(id)").status == 200)
            try await set(playground, #""outages":[{"kind":"error"}]"#)
            #expect(try await playground.api(.get, "v1/transactions/\(id)").status == 500)
            try await set(playground, "")
            #expect(try await playground.api(.get, "v1/subscriptions/\(id)").status == 200)
        }
    }

    @Test func anOutageHasItsTime() async throws {
        let clock = TestClock()
        try await Playground.with(clock: clock) { playground in
            let id = try await playground.purchase("coins").transaction.id
            try await set(
                playground,
                #""outages":[{"kind":"error","inSeconds":10,"forSeconds":20},{"kind":"error","status":599,"inSeconds":60}]"#
            )
            var statuses: [Int] = []
            for seconds in [0, 9, 1, 19, 1, 29, 1, 86_400] {
                clock.advance(by: .seconds(seconds))
                statuses.append(try await playground.api(.get, "v1/transactions/\(id)").status)
            }
            #expect(statuses == [200, 200, 500, 500, 200, 200, 599, 599])
            let shown = try await playground.control(.get, "behaviour").json?["api"]?["outages"]?.array
            #expect(shown?.count == 2)
            check(shown?.first?["from"]?.string.flatMap { Timestamp(rfc3339: $0) } != nil)
            #expect(shown?.last?["until"]?.isNull == true)
        }
    }

    @Test func anOutageHangsClosesOrTakesItsTime() async throws {
        try await Playground.with { playground in
            let id = try await playground.purchase("coins").transaction.id
            func failure(_ outages: String, timeout: Duration?) async throws -> HTTPClientError.Code? {
                try await set(playground, #""outages":[\#(outages)]"#)
                do {
                    _ = try await playground.api(.get, "v1/transactions/\(id)", timeout: timeout)
                    return nil
                } catch let error as HTTPClientError { return error.code }
            }
            #expect(try await failure(#"{"kind":"hang"}"#, timeout: .milliseconds(200)) == .timedOut)
            #expect(try await failure(#"{"kind":"reset"}"#, timeout: nil) == .connectionLost)
            let began = ContinuousClock.now
            #expect(try await failure(#"{"kind":"slow","milliseconds":300}"#, timeout: nil) == nil)
            #expect(ContinuousClock.now - began >= .milliseconds(300))
            #expect(try await failure(#"{"kind":"error","percent":0}"#, timeout: nil) == nil)
        }
    }

    @Test func whatCannotBeIsRefused() async throws {
        try await Playground.with { playground in
            for (api, field) in [
                (#""failCode":200"#, "failCode"), (#""malformed":"all""#, "malformed"),
                (#""dropPercent":101"#, "api.dropPercent"),
                (#""limitWindowMilliseconds":0"#, "api.limitWindowMilliseconds"),
                (#""outages":{}"#, "api.outages"), (#""outages":[1]"#, "api.outages[0]"),
                (#""outages":[{"kind":"tired"}]"#, "kind"),
                (#""outages":[{"kind":"hang","endpoints":["all"]}]"#, "endpoints"),
                (#""outages":[{"kind":"hang","colour":"red"}]"#, "api.outages[0].colour"),
            ] {
                let refused = try await playground.control(.put, "behaviour", #"{"api":{\#(api)}}"#)
                #expect(refused.status == 400)
                #expect(refused.json?["field"]?.string == field)
            }
        }
    }
}
