import CacheTier
import Testing

@testable import Holdfast

@Suite("Levels in a drill")
struct LevelRulesTests {
    /// Whether a level, with a reason that fits, is accepted.
    private func accepts(
        _ level: ServiceLevel, at seconds: Double, _ bench: Bench, gateway: Int = 0, reason: String? = nil
    ) -> Bool {
        let fitting = reason ?? (level == .s ? "current" : "changePending")
        return bench.verdict(at: seconds, [], level: level, reason: fitting, asOf: -10, gateway: gateway)
            .levelProblem == nil
    }

    @Test func onlySIsTrueWhileAllIsWell() {
        let bench = Bench()
        #expect(accepts(.s, at: 1, bench))
        #expect(!accepts(.a, at: 1, bench))
        #expect(!accepts(.b, at: 1, bench))
    }

    @Test func withoutRedisSEndsWhenTheFeedHasBeenSilentForTooLong() {
        var bench = Bench()
        bench.breaks(.redis, 10)
        #expect(accepts(.s, at: 15, bench))
        #expect(accepts(.a, at: 15, bench))
        #expect(!accepts(.s, at: 17, bench))
        #expect(accepts(.a, at: 17, bench))
        #expect(!accepts(.b, at: 17, bench))
    }

    @Test func aGatewayThatStartedWithoutRedisKnowsNothingAndSaysB() {
        var bench = Bench()
        bench.breaks(.redis, 10)
        bench.breaks(.gateway(0), 20, until: 21)
        #expect(accepts(.a, at: 15, bench))
        #expect(!accepts(.a, at: 22, bench))
        #expect(accepts(.b, at: 22, bench))
        #expect(accepts(.a, at: 22, bench, gateway: 1))
        #expect(!accepts(.b, at: 22, bench, gateway: 1))
    }

    @Test func anOutageOfRabbitMQIsNoReasonForAnotherLevel() {
        var bench = Bench()
        bench.breaks(.broker, 10)
        #expect(accepts(.s, at: 20, bench))
        #expect(!accepts(.a, at: 20, bench))
    }

    @Test func anOutageOfApplesMustBeNoticed() {
        var bench = Bench()
        bench.breaks(.apple, 10)
        #expect(accepts(.s, at: 12, bench))
        #expect(!accepts(.s, at: 14, bench))
        #expect(accepts(.a, at: 14, bench, reason: "appleSlow"))
        #expect(!accepts(.a, at: 21, bench, reason: "appleSlow"))
        #expect(accepts(.b, at: 21, bench, reason: "appleUnreachable"))
    }

    @Test func theWorseOfTheTwoSidesIsTrue() {
        var bench = Bench()
        bench.breaks(.redis, 10)
        bench.breaks(.apple, 10)
        #expect(!accepts(.s, at: 22, bench))
        #expect(!accepts(.a, at: 22, bench))
        #expect(accepts(.b, at: 22, bench, reason: "appleUnreachable"))
    }

    @Test func afterTheMendingEitherIsTrueUntilItIsRecovered() {
        var bench = Bench()
        bench.breaks(.redis, 10, until: 20)
        #expect(accepts(.a, at: 25, bench))
        #expect(accepts(.s, at: 25, bench))
        #expect(!accepts(.b, at: 25, bench))
        bench.faults.recovers(at: Bench.at(24))
        #expect(!accepts(.a, at: 25, bench))
        #expect(accepts(.s, at: 25, bench))
    }

    @Test func whatIsNeverMendedIsNotExcusedForEver() {
        var bench = Bench()
        bench.breaks(.redis, 10, until: 20)
        #expect(!accepts(.a, at: 41, bench))
    }

    @Test func aReasonThatNothingCausedIsFound() {
        var bench = Bench()
        bench.breaks(.redis, 10)
        #expect(accepts(.a, at: 20, bench, reason: "storeSilent"))
        #expect(!accepts(.a, at: 20, bench, reason: "appleSlow"))
        #expect(!accepts(.a, at: 20, bench, reason: "storeReplaced"))
        #expect(!accepts(.a, at: 20, bench, reason: "current"))
        #expect(!accepts(.s, at: 12, bench, reason: "storeSilent"))
    }

    @Test func anAsOfAfterTheEndOfRedisIsFound() {
        var bench = Bench()
        bench.breaks(.redis, 10)
        let honest = bench.verdict(at: 20, [], level: .a, reason: "storeSilent", asOf: 10)
        let boasting = bench.verdict(at: 20, [], level: .a, reason: "storeSilent", asOf: 19)
        #expect(honest.levelProblem == nil)
        #expect(boasting.levelProblem != nil)
    }

    @Test func actionsThatDoNotFitTheLevelAreFound() {
        #expect(Bench().verdict(at: 1, [], actionsFit: false).levelProblem != nil)
    }

    @Test func notKnownNowMustSayHowGoodThatIs() {
        var bench = Bench(openedAt: 15)
        bench.breaks(.redis, 10)
        #expect(bench.verdictOnUnknown(at: 20).levelProblem == nil)
        #expect(bench.verdictOnUnknown(at: 20, level: .s, reason: "current").levelProblem != nil)
        #expect(bench.judge(.unknownCustomer(nil), at: 20, gateway: 0).levelProblem != nil)
    }
}
