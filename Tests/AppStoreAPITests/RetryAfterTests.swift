import AppStore
import TestSupport
import Testing
import Time

@Suite(.timeLimit(.minutes(6))) struct RetryAfterTests {
    private static let now = Timestamp(milliseconds: 1_796_000_000_000)

    @Test(arguments: [
        ("1796000060000", 60.0), ("1796000000500", 1), ("1795999999999", 1), ("1796000060", 60), ("120", 120), ("0", 1),
        ("-5", 30), ("", 30), ("soon", 30), ("1e3", 30), ("99999999999999999999", 30), ("1896000000000", 3600),
        ("9223372036854775807", 3600), ("86400", 3600), ("1000000000000", 1), ("99999999999", 3600),
        ("Mon, 30 Nov 2026 00:54:20 GMT", 60),
    ])
    func whateverItSaysNobodyWaitsForEver(_ value: String, _ seconds: Double) {
        let now = value.hasPrefix("Mon") ? Timestamp(rfc3339: "2026-11-30T00:53:20Z") ?? Self.now : Self.now
        #expect(RetryAfter.delay(value, serverNow: now) == .seconds(seconds))
    }

    @Test func withoutTheHeaderItIsHalfAMinute() {
        #expect(RetryAfter.delay(nil, serverNow: Self.now) == .seconds(30))
    }

    /// Apple's instant, by our own clock, which is wrong by an hour.
    @Test func theInstantIsToldByOurClock() async throws {
        let clock = TestClock(Self.now + .seconds(3600))
        let date = "Date: Sun, 29 Nov 2026 21:33:20 GMT"
        #expect(Timestamp(rfc3339: "2026-11-29T21:33:20Z") != nil)
        let began = ContinuousClock.now
        let apples = try #require(Timestamp(rfc3339: "2026-11-29T21:33:20Z"))
        try await Stage.with(
            clock: clock.wall,
            answering: { _ in answer(429, "", date, "Retry-After: \((apples + .seconds(60)).milliseconds)") }
        ) { stage in
            let failure = await stage.failure { () async throws(ServerAPIFailure) in
                try await stage.client.transaction("1", .support)
            }
            let retryAfter = try #require(failure?.retryAfter)
            let delay = retryAfter - clock.now
            // Apple's clock is known to within the time that the answer took.
            let took = .now - began
            #expect(delay > .seconds(59) - took && delay <= .seconds(61) + took)
            #expect(failure?.isRetryable == true)
        }
    }
}
