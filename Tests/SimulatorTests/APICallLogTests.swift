import Testing
import Time

@testable import Simulator

@Suite struct APICallLogTests {
    private func route(_ path: String) throws -> ServerAPIRoute {
        let found = ServerAPIRoute.find("GET", path.split(separator: "/").map(String.init))
        return try #require(found?.route)
    }

    @Test func theBusiestStretchIsFoundWhereverItBegins() throws {
        var log = APICallLog()
        let route = try route("/inApps/v1/subscriptions/1")
        // Ten a second, but for twenty that come across the turn of a second.
        for tenth in 0..<200 { log.begin(route, about: nil, at: Demo.start + .milliseconds(Int64(tenth) * 100)) }
        for number in 0..<20 {
            log.begin(route, about: nil, at: Demo.start + .milliseconds(20_900 + Int64(number) * 10))
        }
        let busiest = try #require(log.busiest[50])
        #expect(busiest.inASecond == 20)
        #expect(busiest.inTenSeconds == 109)
        #expect(log.seconds.map(\.calls).reduce(0, +) == 220)
    }

    @Test func whoIsAskedAboutAgainAtOnceAfterAGoodAnswerIsCounted() throws {
        var log = APICallLog()
        let route = try route("/inApps/v1/subscriptions/1")
        func ask(_ account: String, at milliseconds: Int64, _ outcome: APICallLog.Outcome) {
            log.begin(route, about: account, at: Demo.start + .milliseconds(milliseconds))
            log.end(route, about: account, outcome, at: Demo.start + .milliseconds(milliseconds + 10))
        }
        ask("a", at: 0, .failed)
        ask("a", at: 100, .answered)
        ask("b", at: 200, .answered)
        ask("a", at: 1200, .answered)
        #expect(log.askedAgain == 0)
        ask("a", at: 1500, .limited)
        #expect(log.askedAgain == 1)
        #expect(log.count(.statuses) == 5)
        #expect(log.count(.statuses, .answered) == 3)
        #expect(log.lastAnswered["a"] == Demo.start + .milliseconds(1210))
    }

    @Test func theSecondsThatAreKeptAreBounded() throws {
        var log = APICallLog()
        let route = try route("/inApps/v1/transactions/1")
        for second in 0..<APICallLog.secondsKept + 10 {
            log.begin(route, about: "a", at: Demo.start + .seconds(second))
        }
        #expect(log.seconds.count <= APICallLog.secondsKept)
        #expect(log.seconds.last?.second == Demo.start.milliseconds / 1000 + Int64(APICallLog.secondsKept + 9))
    }
}
