import AppStore
import HTTP
import JSON
import Testing
import Time

@testable import Simulator

/// The App Store Server API over real sockets.
@Suite(.timeLimit(.minutes(6))) struct ServerAPITests {
    private func originalID(_ playground: Playground, _ product: String = "premium.monthly") async throws -> String {
        let account = try await playground.simulator.createAccount()
        let events = try await playground.simulator.perform(.buy(product), for: account)
        return try #require(events.notifications.first?.transaction).originalID
    }

    private func transaction(_ playground: Playground, _ jws: String?) throws -> TransactionPayload {
        let roots = try TrustedRoots(der: [playground.simulator.identity.authority.rootDER])
        return try JWSVerifier(roots: roots).verify(
            Array(try #require(jws).utf8)[...], as: TransactionPayload.self, now: playground.now
        ).payload
    }

    @Test func aBadTokenGets401AndNothingElse() async throws {
        try await Playground.with { playground in
            let stranger = try SigningKey()
            let bad = [
                "", "Bearer", "Bearer x.y.z", "Basic abc",
                "Bearer \(try playground.token(issuer: "57246542-96fe-1a63-e053-0824d0110000"))",
                "Bearer \(try playground.token(key: "OTHERKEY01"))",
                "Bearer \(try playground.token(bundle: "com.example.other"))",
                "Bearer \(try playground.token(signedBy: stranger))",
                "Bearer \(try playground.token(at: playground.now - .seconds(3600)))",
                "Bearer \(try playground.token(at: playground.now + .seconds(3600)))",
            ]
            for authorization in bad {
                let answer = try await playground.api(.get, "v1/transactions/1", authorization: authorization)
                #expect(answer.status == 401, "\(authorization.prefix(20))")
                #expect(answer.json == nil)
            }
            #expect(try await playground.api(.get, "v1/transactions/1").status == 404)
        }
    }

    @Test func unknownAndMalformedIdsHaveApplesErrors() async throws {
        try await Playground.with { playground in
            for (path, code) in [
                ("v1/transactions/123", 4_040_010), ("v1/subscriptions/123", 4_040_010), ("v2/history/123", 4_040_010),
                ("v1/transactions/abc", 4_000_006), ("v1/subscriptions/-1", 4_000_006),
                ("v1/notifications/test/none", 4_040_008),
            ] {
                let answer = try await playground.api(.get, path)
                #expect(answer.status == code / 10_000)
                #expect(answer.json?["errorCode"]?.int64 == Int64(code))
                #expect(answer.json?["errorMessage"]?.string?.isEmpty == false)
            }
            #expect(try await playground.api(.get, "v1/nothing/1").status == 404)
        }
    }

    @Test func statusesAreSignedAndFiltered() async throws {
        try await Playground.with { playground in
            let id = try await originalID(playground)
            let answer = try await playground.api(.get, "v1/subscriptions/\(id)")
            #expect(answer.status == 200)
            #expect(answer.json?["environment"]?.string == "Production")
            #expect(answer.json?["appAppleId"]?.int64 == 1_234_567_890)
            let last = try #require(answer.json?["data"]?.array?.first?["lastTransactions"]?.array?.first)
            #expect(last["status"]?.int64 == 1)
            #expect(last["originalTransactionId"]?.string == id)
            #expect(try transaction(playground, last["signedTransactionInfo"]?.string).productID == "premium.monthly")
            #expect(last["signedRenewalInfo"]?.string?.isEmpty == false)
            let none = try await playground.api(.get, "v1/subscriptions/\(id)?status=2&status=5")
            #expect(none.json?["data"]?.array?.isEmpty == true)
            let wrong = try await playground.api(.get, "v1/subscriptions/\(id)?status=9")
            #expect(wrong.json?["errorCode"]?.int64 == 4_000_031)
        }
    }

    @Test func aTransactionIsTold() async throws {
        try await Playground.with { playground in
            let id = try await originalID(playground, "lifetime")
            let answer = try await playground.api(.get, "v1/transactions/\(id)")
            let payload = try transaction(playground, answer.json?["signedTransactionInfo"]?.string)
            #expect(payload.transactionID == id)
            #expect(payload.type == "Non-Consumable")
            #expect(payload.signedDate != nil)
        }
    }

    @Test func theHistoryOfTransactionsIsPaged() async throws {
        let clock = TestClock()
        try await Playground.with(clock: clock) { playground in
            let id = try await originalID(playground)
            clock.advance(by: Demo.day * 30 * 24)
            await playground.simulator.tick()
            var ids: [String?] = []
            var query = ""
            var pages = 0
            while true {
                let answer = try await playground.api(.get, "v2/history/\(id)?sort=DESCENDING\(query)")
                let page = try #require(answer.json?["signedTransactions"]?.array)
                ids += try page.map { try transaction(playground, $0.string).transactionID }
                pages += 1
                guard answer.json?["hasMore"]?.bool == true else { break }
                query = "&revision=\(try #require(answer.json?["revision"]?.string))"
            }
            #expect(pages == 2)
            #expect(ids.count == 25)
            #expect(Set(ids).count == 25)
            #expect(ids.last == id)
            let next = try await playground.api(.get, "v2/history/\(id)?sort=ASCENDING\(query)")
            #expect(next.json?["errorCode"]?.int64 == 4_000_005, "a revision goes one way")
            let bad = try await playground.api(.get, "v2/history/\(id)?revision=zzz")
            #expect(bad.json?["errorCode"]?.int64 == 4_000_005)
            let others = try await playground.api(.get, "v2/history/\(id)?productId=basic.monthly")
            #expect(others.json?["signedTransactions"]?.array?.isEmpty == true)
            let revoked = try await playground.api(.get, "v2/history/\(id)?revoked=true")
            #expect(revoked.json?["signedTransactions"]?.array?.isEmpty == true)
        }
    }

    private func range(_ playground: Playground) -> String {
        let now = playground.now
        return #""startDate":\#((now - Demo.day).milliseconds),"endDate":\#((now + Demo.day).milliseconds)"#
    }

    @Test func theHistoryOfNotificationsIsPagedAndFiltered() async throws {
        try await Playground.with { playground in
            for _ in 0..<25 { _ = try await originalID(playground, "coins") }
            let id = try await originalID(playground)
            _ = await playground.deliveries(26)
            var uuids: [String?] = []
            var query = ""
            let everything = "{\(range(playground))}"
            while true {
                let answer = try await playground.api(.post, "v1/notifications/history\(query)", everything)
                let page = try #require(answer.json?["notificationHistory"]?.array)
                #expect(page.count <= 20)
                for item in page {
                    uuids.append(
                        try playground.verify(try #require(item["signedPayload"]?.string)).payload.notificationUUID)
                    let attempt = try #require(item["sendAttempts"]?.array?.first)
                    #expect(attempt["sendAttemptResult"]?.string == "SUCCESS")
                    #expect(attempt["attemptDate"]?.int64 != nil)
                }
                query = "?paginationToken=\(try #require(answer.json?["paginationToken"]?.string))"
                guard answer.json?["hasMore"]?.bool == true else { break }
            }
            #expect(uuids.count == 26)
            #expect(Set(uuids).count == 26)

            func count(_ filter: String) async throws -> Int? {
                let body = "{\(range(playground)),\(filter)}"
                let answer = try await playground.api(.post, "v1/notifications/history", body)
                return answer.json?["notificationHistory"]?.array?.count
            }
            #expect(try await count(#""notificationType":"SUBSCRIBED""#) == 1)
            #expect(try await count(#""notificationType":"SUBSCRIBED","notificationSubtype":"RESUBSCRIBE""#) == 0)
            #expect(try await count(#""transactionId":"\#(id)""#) == 1)
            #expect(try await count(#""onlyFailures":true"#) == 0)
        }
    }

    @Test func aBadHistoryRequestHasApplesErrors() async throws {
        try await Playground.with { playground in
            let now = playground.now.milliseconds
            for (body, code) in [
                ("", 4_000_000), ("{}", 4_000_015), (#"{"startDate":\#(now)}"#, 4_000_016),
                (#"{"startDate":\#(now),"endDate":\#(now - 1)}"#, 4_000_013),
                (#"{"startDate":0,"endDate":\#(now)}"#, 4_000_012),
                (#"{\#(range(playground)),"notificationSubtype":"UPGRADE"}"#, 4_000_018),
                (#"{\#(range(playground)),"notificationType":"TEST","transactionId":"1"}"#, 4_000_019),
                (#"{\#(range(playground)),"transactionId":"1"}"#, 4_040_010),
            ] {
                let answer = try await playground.api(.post, "v1/notifications/history", body)
                #expect(answer.json?["errorCode"]?.int64 == Int64(code), "\(body)")
            }
            let token = try await playground.api(
                .post, "v1/notifications/history?paginationToken=zzz", "{\(range(playground))}")
            #expect(token.json?["errorCode"]?.int64 == 4_000_014)
        }
    }

    @Test func aTestNotificationIsSentAndItsFateIsTold() async throws {
        try await Playground.with { playground in
            let asked = try await playground.api(.post, "v1/notifications/test")
            let token = try #require(asked.json?["testNotificationToken"]?.string)
            _ = await playground.deliveries(1)
            let status = try await playground.api(.get, "v1/notifications/test/\(token)")
            let verified = try playground.verify(try #require(status.json?["signedPayload"]?.string))
            #expect(verified.payload.notificationType == "TEST")
            #expect(status.json?["sendAttempts"]?.array?.first?["sendAttemptResult"]?.string == "SUCCESS")
            #expect(playground.receiver.bodies.count == 1)
        }
    }

    @Test func beyondTheRateIts429AndWhenToComeAgainInMilliseconds() async throws {
        let clock = TestClock()
        try await Playground.with(clock: clock) { playground in
            var behaviour = APIBehaviour()
            behaviour.ratePerSecond = 2
            await playground.simulator.setBehaviour(api: behaviour)
            let id = try await originalID(playground, "lifetime")
            for _ in 0..<2 { #expect(try await playground.api(.get, "v1/transactions/\(id)").status == 200) }
            let limited = try await playground.api(.get, "v1/transactions/\(id)")
            #expect(limited.status == 429)
            #expect(limited.json?["errorCode"]?.int64 == 4_290_000)
            #expect(limited.headers["Retry-After"] == String((clock.now + .seconds(1)).milliseconds))
            clock.advance(by: .seconds(1))
            #expect(try await playground.api(.get, "v1/transactions/\(id)").status == 200)
        }
    }

    @Test func itFailsAndGoesDarkWhenTold() async throws {
        try await Playground.with { playground in
            let id = try await originalID(playground, "lifetime")
            var behaviour = APIBehaviour()
            behaviour.failStatus = 503
            await playground.simulator.setBehaviour(api: behaviour)
            let failed = try await playground.api(.get, "v1/transactions/\(id)")
            #expect(failed.status == 503)
            #expect(failed.json == nil)

            behaviour = APIBehaviour()
            behaviour.isDark = true
            await playground.simulator.setBehaviour(api: behaviour)
            await #expect(throws: HTTPClientError.self) {
                try await playground.api(.get, "v1/transactions/\(id)", timeout: .milliseconds(100))
            }
            await playground.simulator.setBehaviour(api: APIBehaviour())
            #expect(try await playground.api(.get, "v1/transactions/\(id)").status == 200)
        }
    }
}
