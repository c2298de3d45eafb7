import Entitlements
import HTTP
import JSON
import Runtime
import TestSupport
import Testing
import Time

@testable import AppStore

/// Tokens, and the two clocks they are dated by.
@Suite(.timeLimit(.minutes(6))) struct TokenTests {
    private static let ok = #"{"signedTransactionInfo":"a.b.c"}"#
    private static let start = Timestamp(milliseconds: 1_796_000_000_000)

    private func claims(_ token: String) throws -> JSONValue {
        let parts = token.split(separator: ".")
        #expect(parts.count == 3)
        return try JSONValue.parse(try #require(Base64URL.decode(Array(parts[1].utf8)[...])))
    }

    /// An answer dated so.
    private static func dated(_ status: Int, _ time: Timestamp) -> ScriptedServer.Action {
        // 2026-11-30T02:14:38.123Z
        let text = time.rfc3339
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let parts = text.split { "-T.".contains($0) }
        let month = months[(Int(parts[1]) ?? 1) - 1]
        return answer(status, status == 200 ? ok : "", "Date: Mon, \(parts[2]) \(month) \(parts[0]) \(parts[3]) GMT")
    }

    @Test("Pitfall 24: one token serves many calls, dated back a minute, and is made anew before its end")
    func aTokenIsKeptUntilItIsNearItsEnd() async throws {
        let clock = TestClock(Self.start)
        try await Stage.with(clock: clock.wall, answering: { _ in answer(200, Self.ok) }) { stage in
            for minutes in [0, 1, 17, 18, 19] {
                clock.now = Self.start + .seconds(minutes * 60)
                _ = try await stage.client.transaction("1", .support)
            }
            let tokens = stage.requests.map(\.token)
            #expect(Set(tokens[0...2]).count == 1)
            #expect(Set(tokens).count == 2)
            let first = try claims(tokens[0])
            let second = Self.start.milliseconds / 1000
            #expect(first["iat"]?.int64 == second - 60)
            #expect(first["exp"]?.int64 == second + 1200)
            #expect(first["bid"]?.string == Stage.bundleID)
            #expect(first["iss"]?.string == Stage.issuerID)
            #expect(first["aud"]?.string == "appstoreconnect-v1")
            let key = try stage.key.verifyingKey()
            _ = try ServerAPIToken.verify(tokens[4], now: clock.now) { $0 == "KEY1" ? key : nil }
        }
    }

    @Test func noSettingMakesATokenThatLivesLongerThanApplesHour() {
        var reader = SettingsReader.documenting
        let settings = ServerAPISettings(&reader)
        #expect(settings.tokenLife + settings.tokenBackdating <= ServerAPIToken.longestLife)
        let ranges = reader.keys.filter { $0.name.hasPrefix("appStoreAPI.token") }.compactMap(\.range)
        #expect(ranges == ["1m…55m", "0ms…4m"])
    }

    @Test func aClockThatWasSetBackMakesANewToken() async throws {
        let clock = TestClock(Self.start)
        try await Stage.with(clock: clock.wall, answering: { _ in answer(200, Self.ok) }) { stage in
            _ = try await stage.client.transaction("1", .support)
            clock.now = Self.start - .seconds(3600)
            _ = try await stage.client.transaction("1", .support)
            let issued = try stage.requests.map { try claims($0.token)["iat"]?.int64 ?? 0 }
            #expect(issued[1] == issued[0] - 3600)
        }
    }

    @Test("Pitfall 24: a wrong clock is measured by the server's, logged once, and costs one more call, no answer")
    func aWrongClockIsCorrected() async throws {
        // Our clock is ten minutes ahead: to Apple, what we sign comes from the future.
        let apples = TestClock(Self.start)
        let ours = TestClock(Self.start + .seconds(600))
        let began = ContinuousClock.now
        try await Stage.with(
            clock: ours.wall,
            answering: { exchange in
                let token = Request(exchange.request).token.split(separator: ".")
                let claims = Base64URL.decode(Array(token[1].utf8)[...]).flatMap { try? JSONValue.parse($0) }
                let issued = claims?["iat"]?.int64 ?? .max
                return Self.dated(issued * 1000 > apples.now.milliseconds ? 401 : 200, apples.now)
            }
        ) { stage in
            #expect(stage.client.skew == nil)
            for _ in 0..<3 { _ = try await stage.client.transaction("1", .support) }
            #expect(stage.requests.count == 4)
            #expect(Set(stage.requests.map(\.token)).count == 2)
            let skew = try #require(stage.client.skew)
            let took = .now - began
            #expect(skew > .seconds(-602) - took && skew < .seconds(-598) + took)
            #expect(stage.log.all.count == 1)
            check(stage.log.all.first?.contains("set it by NTP") == true)
            let text = stage.metrics.exposition()
            let gauge = #"clock_skew_seconds{environment="production"} -"#
            check(text.contains(gauge + "599") || text.contains(gauge + "60"))
        }
    }

    @Test func aSlowAnswerIsNotTakenForAWrongClock() throws {
        let lines = LogLines()
        let clock = ServerClock(
            .system, gauge: Metrics().gauge("skew", ""), log: lines.log)
        let sent = try #require(Timestamp(rfc3339: "2026-11-30T02:14:00.000Z"))
        // Written at once, and 20 seconds under way: somewhere in between, ours may be right.
        clock.observe("Mon, 30 Nov 2026 02:14:00 GMT", sent: sent, received: sent + .seconds(20))
        #expect(clock.bounds == .seconds(-20) ... .seconds(1))
        #expect(clock.skew == .milliseconds(-9500))
        #expect(lines.all.isEmpty)
        clock.observe("Mon, 30 Nov 2026 02:14:00 GMT", sent: sent + .seconds(9), received: sent + .seconds(10))
        #expect(clock.bounds == .seconds(-10) ... .seconds(-8))
        #expect(lines.all.count == 1)
    }

    @Test(arguments: [-365, -2, 2, 365, 300_000])
    func anAbsurdDateIsNotTakenForTheClocksSkew(_ days: Int64) async throws {
        let clock = TestClock(Self.start)
        let absurd = Self.start + .seconds(days * 86_400)
        try await Stage.with(clock: clock.wall, answering: { _ in Self.dated(401, absurd) }) { stage in
            let failure = await stage.failure { () async throws(ServerAPIFailure) in
                try await stage.client.transaction("1", .support)
            }
            #expect(failure?.kind == .unauthorized)
            check(failure?.message.contains("the answer's Date is more than 24") == true, "\(failure?.message ?? "")")
            #expect(stage.requests.count == 1)
            #expect(stage.client.skew == nil)
            // What it said is still to be seen.
            #expect(stage.client.skewBounds != nil)
        }
    }

    @Test func whatWasBelievedStaysWhenAnAbsurdDateComes() throws {
        let clock = ServerClock(.system, gauge: Metrics().gauge("skew", ""), log: .discarding)
        let sent = try #require(Timestamp(rfc3339: "2026-11-30T02:14:00.000Z"))
        clock.observe("Mon, 30 Nov 2026 02:15:00 GMT", sent: sent, received: sent)
        #expect(clock.skew == .milliseconds(60_500))
        clock.observe("Fri, 30 Nov 2096 02:15:00 GMT", sent: sent, received: sent)
        #expect(clock.skew == .milliseconds(60_500))
        check(clock.bounds.map { $0.lowerBound > .seconds(86_400) } == true)
    }

    @Test func a401WithARightClockIsNotTriedAgain() async throws {
        let clock = TestClock(Self.start)
        try await Stage.with(clock: clock.wall, answering: { _ in Self.dated(401, clock.now) }) { stage in
            for _ in 0..<2 {
                let failure = await stage.failure { () async throws(ServerAPIFailure) in
                    try await stage.client.transaction("1", .support)
                }
                #expect(failure?.kind == .unauthorized)
            }
            #expect(stage.requests.count == 2)
            #expect(stage.log.all.isEmpty)
        }
    }

    @Test(arguments: ["", "yesterday", "Mon, 30 Nov 2026", "Mon, 99 Nov 2026 02:14:38 GMT", "1796000000"])
    func aDateThatIsNoneChangesNothing(_ date: String) async throws {
        try await Stage.with(answering: { _ in answer(200, Self.ok, "Date: \(date)") }) { stage in
            _ = try await stage.client.transaction("1", .support)
            #expect(stage.client.skew == nil)
        }
    }

    @Test func theDateOfAnAnswerIsRead() {
        #expect(
            HTTPDate.timestamp(of: "Sun, 06 Nov 1994 08:49:37 GMT") == Timestamp(rfc3339: "1994-11-06T08:49:37Z"))
        #expect(HTTPDate.timestamp(of: "Sunday, 06-Nov-94 08:49:37 GMT") == nil)
    }
}
