import CacheTier
import Testing
import Time

@testable import Holdfast

/// A judge that cannot find anything wrong is worth nothing: wrong answers are planted here.
@Suite("The judge of a drill")
struct JudgeTests {
    // MARK: While all is well

    @Test func whatIsTrueIsRight() {
        var bench = Bench()
        bench.happens(0, .active, until: 60)
        #expect(bench.verdict(at: -1, []).readClass == .right)
        #expect(bench.verdict(at: 1, ["premium", "basic"]).readClass == .right)
    }

    @Test func aPayerWhoHasNothingIsFound() {
        var bench = Bench()
        bench.happens(0, .active, until: 60)
        #expect(bench.verdict(at: 10, []).readClass == .payerWithoutAccess)
        #expect(bench.verdict(at: 10, []).isWrong)
    }

    @Test func aPayerWhoLacksOneEntitlementOfTwoIsFound() {
        var bench = Bench()
        bench.happens(0, .active, until: 60)
        #expect(bench.verdict(at: 10, ["basic"]).readClass == .payerWithoutAccess)
    }

    @Test func accessThatWasNeverPaidForIsFound() {
        var bench = Bench()
        #expect(bench.verdict(at: 10, ["premium"]).readClass == .nonPayerWithAccess)
        bench.happens(20, .active, "basic", until: 60)
        #expect(bench.verdict(at: 30, ["basic", "premium"]).readClass == .nonPayerWithAccess)
    }

    @Test func whatHappenedAMomentAgoMayBeMissingForTheBoundAndNoLonger() {
        var bench = Bench()
        bench.happens(0, .active, until: 60)
        bench.happens(10, .revoked, until: 10)
        let behind = bench.verdict(at: 11.5, ["premium", "basic"])
        #expect(behind.readClass == .behind)
        #expect(behind.lag == .milliseconds(1500))
        #expect(bench.verdict(at: 12.5, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    @Test func anAnswerThatRunsAheadOfTheTruthIsFound() {
        var bench = Bench()
        bench.happens(10, .active, until: 60)
        #expect(bench.verdict(at: 9, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    @Test func aPeriodThatEndsWithoutAWordIsHeldForTheBoundOfPropagation() {
        var bench = Bench()
        bench.happens(0, .active, until: 20)
        bench.happens(20, .billingRetry, until: 20)
        #expect(bench.verdict(at: 21, ["premium", "basic"]).readClass == .held)
        #expect(bench.verdict(at: 23, ["premium", "basic"]).readClass == .nonPayerWithAccess)
        #expect(bench.verdict(at: 23, []).readClass == .right)
    }

    @Test func whatWasCancelledIsNotHeld() {
        var bench = Bench()
        bench.happens(0, .canceled, until: 20)
        bench.happens(20, .expired, until: 20)
        #expect(bench.verdict(at: 20.5, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    @Test func aGraceThatIsOverIsNotHeld() {
        var bench = Bench()
        bench.happens(0, .gracePeriod, until: 20)
        bench.happens(20, .billingRetry, until: 20)
        #expect(bench.verdict(at: 19, ["premium", "basic"]).readClass == .right)
        #expect(bench.verdict(at: 20.5, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    @Test func anEntitlementBeyondItsOwnEndIsFound() {
        var bench = Bench()
        bench.happens(0, .active, until: 60)
        #expect(bench.verdict(at: 10, ["premium", "basic"], outlived: ["premium"]).readClass == .nonPayerWithAccess)
    }

    @Test func aReadWithoutAnAnswerHasFailed() {
        #expect(Bench().judge(.failed("500"), at: 1, gateway: 0).readClass == .failed)
    }

    // MARK: While something is broken

    @Test(arguments: [Faults.Part.redis, .broker, .apple])
    func whatHappenedDuringAnOutageMayBeUnknownUntilItIsRecovered(part: Faults.Part) {
        var bench = Bench()
        bench.happens(0, .active, until: 100)
        bench.breaks(part, 10, until: 30)
        bench.happens(15, .revoked, until: 15)
        #expect(bench.verdict(at: 28, ["premium", "basic"]).readClass == .stale)
        #expect(bench.verdict(at: 40, ["premium", "basic"]).readClass == .stale)
        #expect(bench.verdict(at: 51, ["premium", "basic"]).readClass == .nonPayerWithAccess)
        bench.faults.recovers(at: Bench.at(35))
        #expect(bench.verdict(at: 34, ["premium", "basic"]).readClass == .stale)
        #expect(bench.verdict(at: 40, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    @Test func whatWasKnownBeforeAnOutageIsNotForgotten() {
        var bench = Bench()
        bench.happens(0, .active, until: 100)
        bench.breaks(.redis, 20)
        #expect(bench.verdict(at: 40, [], level: .a, reason: "storeSilent", asOf: 20).readClass == .payerWithoutAccess)
        bench.happens(30, .active, "basic", until: 100)
        #expect(bench.verdict(at: 40, [], level: .a, reason: "storeSilent", asOf: 20).readClass == .payerWithoutAccess)
    }

    @Test func aRefundBeforeAnOutageIsNotForgotten() {
        var bench = Bench()
        bench.happens(0, .active, until: 100)
        bench.happens(10, .revoked, until: 10)
        bench.breaks(.broker, 20)
        #expect(bench.verdict(at: 30, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    @Test func aHoldDuringAnOutageEndsAtItsBound() {
        var bench = Bench()
        bench.happens(0, .active, until: 20)
        bench.breaks(.apple, 10)
        bench.happens(20, .billingRetry, until: 20)
        #expect(bench.verdict(at: 49, ["premium", "basic"], level: .b, reason: "appleUnreachable").readClass == .held)
        #expect(
            bench.verdict(at: 51, ["premium", "basic"], level: .b, reason: "appleUnreachable").readClass
                == .nonPayerWithAccess)
    }

    @Test func aPayerIsHeldThroughAnOutage() {
        var bench = Bench()
        bench.happens(0, .active, until: 20)
        bench.breaks(.broker, 10)
        bench.happens(19, .active, until: 40)
        #expect(bench.verdict(at: 30, []).readClass == .payerWithoutAccess)
        #expect(bench.verdict(at: 30, ["premium", "basic"]).readClass == .right)
    }

    @Test func whatWasCancelledBeforeAnOutageEndsDuringIt() {
        var bench = Bench()
        bench.happens(0, .canceled, until: 20)
        bench.breaks(.apple, 10)
        bench.happens(20, .expired, until: 20)
        #expect(bench.verdict(at: 21, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    // MARK: While notifications are lost

    /// Told within 5 s, found within 12 s; nothing else is broken.
    private func losing(from: Double = 0) -> Bench {
        var bench = Bench()
        bench.bounds.told = .seconds(5)
        bench.bounds.found = .seconds(12)
        bench.breaks(.news, from)
        return bench
    }

    @Test func aLostRefundMayShowOnceTheSubscriptionIsAskedAbout() {
        var bench = losing()
        bench.happens(1, .active, until: 60)
        bench.happens(20, .revoked, until: 20)
        #expect(bench.verdict(at: 31, ["premium", "basic"]).readClass == .stale)
        #expect(bench.verdict(at: 33, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    @Test func aPurchaseOfTheMomentInWhichTheAccountWasOpenedMayShowOnceItIsTold() {
        var bench = losing()
        bench.lifeline = Lifeline(createdAt: Bench.at(1))
        bench.lifeline.add(.nothing, since: Bench.at(1))
        bench.happens(1, .active, until: 60)
        #expect(bench.verdict(at: 7, []).readClass == .stale)
        #expect(bench.verdict(at: 14, []).readClass == .payerWithoutAccess)
    }

    @Test func aLostRefundOfWhatIsCanceledMayShowAtItsEnd() {
        var bench = losing()
        bench.happens(1, .canceled, until: 60)
        bench.happens(20, .revoked, until: 20)
        #expect(bench.verdict(at: 59, ["premium", "basic"]).readClass == .stale)
        #expect(bench.verdict(at: 61, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    @Test func anUpgradeThatWasNeverHeardOfMayShowAsLate() {
        var bench = losing()
        bench.happens(1, .active, "basic", until: 60)
        bench.happens(20, .active, "premium", until: 80)
        #expect(bench.verdict(at: 31, ["basic"]).readClass == .stale)
        #expect(bench.verdict(at: 33, ["basic"]).readClass == .payerWithoutAccess)
    }

    @Test("Invariant 5: who turned renewal on again keeps access although that notification was lost")
    func nobodyLosesWhatIsPaidBecauseANotificationWasLost() {
        var bench = losing()
        bench.happens(1, .canceled, until: 30)
        bench.happens(20, .active, until: 30)
        bench.happens(28, .active, until: 60)
        #expect(bench.verdict(at: 31, []).readClass == .payerWithoutAccess)
        // What happened a moment before the end could not be known yet.
        var late = losing()
        late.happens(1, .canceled, until: 30)
        late.happens(28, .active, until: 60)
        #expect(late.verdict(at: 31, []).readClass == .stale)
        #expect(late.verdict(at: 34, []).readClass == .payerWithoutAccess)
    }

    @Test func aLostRenewalIsHeldAndAnEndThatNobodyAskedAboutIsFound() {
        var bench = losing()
        bench.happens(1, .active, until: 20)
        bench.happens(20, .billingRetry, until: 20)
        #expect(bench.verdict(at: 31, ["premium", "basic"]).readClass == .held)
        #expect(bench.verdict(at: 33, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    @Test func afterTheLossesTheUsualBoundsCountAgain() {
        var bench = Bench()
        bench.breaks(.news, 0, until: 10)
        bench.faults.recovers(at: Bench.at(30))
        bench.happens(1, .active, until: 90)
        bench.happens(40, .revoked, until: 40)
        #expect(bench.verdict(at: 45, ["premium", "basic"]).readClass == .nonPayerWithAccess)
    }

    @Test func outagesThatAreRecoveredDoNotExcuseWhatComesLater() {
        var faults = Faults()
        for (from, until) in [(10.0, 20.0), (35, 40), (100, 110)] {
            faults.breaks(.apple, at: Bench.at(from))
            faults.mends(.apple, at: Bench.at(until))
            faults.isMended(.apple, at: Bench.at(until))
        }
        func since(_ seconds: Double) -> Timestamp? {
            faults.heldUpSince(at: Bench.at(seconds), recoveryBound: .seconds(20))
        }
        #expect(since(5) == nil)
        #expect(since(39) == Bench.at(10))
        #expect(since(60) == Bench.at(10))
        #expect(since(61) == nil)
        #expect(since(105) == Bench.at(100))
    }

    // MARK: Customers of whom nobody can know

    @Test func whoBoughtWhileRedisWasAwayMayBeUnknown() {
        var bench = Bench(openedAt: 15)
        bench.breaks(.redis, 10)
        bench.happens(16, .active, until: 60)
        #expect(bench.verdictOnUnknown(at: 20).readClass == .unknownCustomer)
        #expect(!bench.verdictOnUnknown(at: 20).isWrong)
    }

    @Test func whoWasKnownIsNeverUnknown() {
        var bench = Bench()
        bench.happens(0, .active, until: 60)
        bench.breaks(.redis, 10)
        #expect(bench.verdictOnUnknown(at: 20).readClass == .failed)
    }

    @Test func nobodyIsUnknownWhileRedisIsThere() {
        #expect(Bench().verdictOnUnknown(at: 20).readClass == .failed)
        var bench = Bench()
        bench.breaks(.redis, 10, until: 20)
        #expect(bench.verdictOnUnknown(at: 30).readClass == .failed)
    }

    @Test func anInventedNoIsFoundEvenWhereItHappensToBeTrue() {
        var bench = Bench(openedAt: 15)
        bench.breaks(.redis, 10)
        #expect(
            bench.verdict(at: 20, [], level: .a, reason: "storeSilent", asOf: 10).readClass == .inventedNo)
        bench.happens(16, .active, until: 60)
        #expect(
            bench.verdict(at: 20, [], level: .a, reason: "storeSilent", asOf: 10).readClass == .inventedNo)
    }

    @Test func anAccountThatWasThereBeforeMayBeKnownToHaveNothing() {
        var bench = Bench()
        bench.breaks(.redis, 10)
        #expect(bench.verdict(at: 20, [], level: .a, reason: "storeSilent", asOf: 10).readClass == .right)
    }
}
