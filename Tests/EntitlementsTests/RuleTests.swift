import Testing
import Time

@testable import Entitlements

/// The table of rules, row by row, in its order.
@Suite("Rules") struct RuleTests {
    @Test func aRefundOfAnOlderPeriodLeavesTheCurrentOne() {
        let record = record(
            period("1", from: day(0), to: day(30), signed: day(40), revoked: day(40)),
            period("2", from: day(30), to: day(60)))
        #expect(record.at(day(45)).state == .active)
        #expect(record.at(day(45)).validUntil == day(60))
    }

    @Test func aRefundOfTheCurrentPeriodEndsAccessWhenItWasRefunded() {
        let record = record(
            period("1", from: day(0), to: day(30)),
            period("2", from: day(30), to: day(60), signed: day(40), revoked: day(40)))
        #expect(record.at(day(40, hour: -1)).state == .active)
        #expect(record.at(day(40, hour: -1)).validUntil == day(40))
        #expect(record.at(day(40)).state == .revoked)
        #expect(record.at(day(40)).reason == .refunded)
        #expect(record.at(day(40)).validUntil == day(40))
        #expect(record.at(day(40)).nextProductID == nil)
        #expect(record.at(day(70)).state == .revoked)
    }

    @Test func aReversedRefundGrantsAgain() {
        var record = record(
            period("1", from: day(0), to: day(30), signed: day(10), revoked: day(10)), status: 5, said: day(10))
        #expect(record.at(day(12)).state == .revoked)
        record.fold(observation(transaction: period("1", from: day(0), to: day(30), signed: day(11))))
        #expect(record.at(day(12)).state == .active)
    }

    @Test func aProratedRefundEndsAccessLikeAFullOne() {
        let record = record(
            period(
                "1", from: day(0), to: day(30), signed: day(10), revoked: day(10), revocationType: "REFUND_PRORATED"))
        #expect(record.at(day(10)).state == .revoked)
        #expect(record.transactions.first?.revocationType == "REFUND_PRORATED")
    }

    @Test func aRefundOfSomeSeatsLeavesAccess() {
        let record = record(period("1", from: day(0), to: day(30), signed: day(10), seats: 3))
        #expect(record.at(day(11)).state == .active)
        #expect(record.transactions.first?.revokedSeatQuantity == 3)
    }

    @Test func addedSeatsKeepThePeriodUntilAllOfItIsRevoked() {
        var record = record(
            period("1", from: day(0), to: day(30)),
            period("2", from: day(5), to: day(30), signed: day(10), revoked: day(10)))
        #expect(record.at(day(11)).state == .active)
        record.fold(observation(transaction: period("1", from: day(0), to: day(30), signed: day(12), revoked: day(12))))
        #expect(record.at(day(11)).state == .active)
        #expect(record.at(day(12)).state == .revoked)
    }

    @Test func anUpgradedTransactionGrantsNothing() {
        let upgraded = period("1", from: day(0), to: day(30), signed: day(10), upgraded: true)
        let alone = record(upgraded).at(day(11))
        #expect(alone.state == .expired)
        #expect(alone.reason == .upgraded)
        #expect(alone.pendingVerification)
        let followed = record(upgraded, period("2", "pro.month", from: day(10), to: day(40))).at(day(11))
        #expect(followed.state == .active)
        #expect(followed.productID == "pro.month")
    }

    @Test func anOlderPeriodWithALaterEndDoesNotCount() {
        let record = record(
            period("1", "basic.year", from: day(0), to: day(365)),
            period("2", "pro.month", from: day(10), to: day(40), signed: day(20), revoked: day(20)))
        #expect(record.at(day(21)).state == .revoked)
    }

    @Test func ofTwoThatBeginTogetherOneIsAlwaysTheNewest() {
        func newest(_ one: TransactionFact, _ other: TransactionFact) -> String? {
            record(one, other).at(day(1)).productID
        }
        // What was upgraded is the older one, then what ends first, was signed first, has the lesser id.
        for (old, new) in [("1", "2"), ("2", "1")] {
            let plain = period(old, from: day(0), to: day(30))
            #expect(newest(plain, period(new, "pro.month", from: day(0), to: day(31))) == "pro.month")
            #expect(newest(plain, period(new, "pro.month", from: day(0), to: nil)) == "pro.month")
            #expect(
                newest(plain, period(new, "pro.month", from: day(0), to: day(30), signed: day(0, hour: 1)))
                    == "pro.month")
            #expect(
                newest(
                    period(old, from: day(0), to: day(90), signed: day(0, hour: 1), upgraded: true),
                    period(new, "pro.month", from: day(0), to: day(30))) == "pro.month")
        }
        #expect(
            newest(period("1", from: day(0), to: day(30)), period("2", "pro.month", from: day(0), to: day(30)))
                == "pro.month")
    }

    @Test func ofTwoPurchaseDatesOfOneTransactionTheOneSignedLastCounts() {
        let record = record(
            period("1", from: day(10), to: day(40), signed: day(10)),
            period("1", from: day(0), to: day(30), signed: day(20)))
        #expect(record.at(day(25)).expiresAt == day(30))
    }

    @Test func aRenewalChargedEarlyDoesNotCountBeforeItBegins() {
        let record = record(
            period("1", from: day(0), to: day(30)),
            period("2", "pro.month", from: day(30), to: day(60), signed: day(29)))
        #expect(record.at(day(29, hour: 12)).productID == "basic.month")
        #expect(record.at(day(29, hour: 12)).nextChangeAt == day(30))
        #expect(record.at(day(30)).productID == "pro.month")
    }

    @Test func settingsSignedBetweenAnEarlyChargeAndItsPeriodCount() {
        let record = record(
            period("1", from: day(0), to: day(30)), period("2", from: day(30), to: day(60), signed: day(29)),
            renewal: renewal(signed: day(29, hour: 12), on: false))
        #expect(record.at(day(31)).state == .canceled)
        #expect(record.at(day(60)).state == .expired)
    }

    @Test func anUpgradeShowsAtOnceAndTheOldProductNoMore() {
        let record = record(
            period("1", from: day(0), to: day(30), signed: day(10), upgraded: true),
            period("2", "pro.month", from: day(10), to: day(40)), renewal: renewal(signed: day(10), next: "pro.month"))
        #expect(record.at(day(9)).reason == .upgraded)
        let after = record.at(day(10))
        #expect(after.productID == "pro.month")
        #expect(after.nextProductID == "pro.month")
        #expect(after.pendingChange == nil)
        #expect(after.entitlements == ["basic", "pro"])
    }

    @Test(arguments: [
        ("pro.month", "basic.month", PendingChange.downgrade), ("basic.month", "pro.month", .upgrade),
        ("basic.month", "basic.year", .crossgrade), ("basic.month", "unknown.week", .change),
    ])
    func theNextProductIsAnnouncedNeverEarly(current: String, next: String, change: PendingChange) {
        let record = record(
            period("1", current, from: day(0), to: day(30)), renewal: renewal(signed: day(3), next: next))
        let evaluation = record.at(day(4))
        #expect(evaluation.productID == current)
        #expect(evaluation.nextProductID == next)
        #expect(evaluation.pendingChange == change)
        #expect(evaluation.pendingChangeAt == day(30))
        // Without news the period's end brings no change of product.
        #expect(record.at(day(30)).productID == current)
    }

    @Test func aFreeTrialIsAnOfferInUse() {
        var trial = period("1", from: day(0), to: day(7))
        (trial.offerType, trial.offerDiscountType) = (1, "FREE_TRIAL")
        let record = record(trial, period("2", from: day(7), to: day(37)))
        #expect(record.at(day(1)).isTrial)
        #expect(record.at(day(1)).offer?.type == 1)
        #expect(record.at(day(1)).nextChangeAt == day(7))
        #expect(record.at(day(1)).nextState == .active)
        #expect(!record.at(day(7)).isTrial)
        #expect(record.at(day(7)).offer == nil)
    }

    @Test func anOfferThatCostsSomethingIsNoTrialAndAnUnknownKindSurvives() {
        var offered = period("1", from: day(0), to: day(30))
        (offered.offerType, offered.offerIdentifier, offered.offerDiscountType) = (99, "autumn", "PAY_AS_YOU_GO")
        let evaluation = record(offered).at(day(1))
        #expect(!evaluation.isTrial)
        #expect(evaluation.offer?.type == 99)
        #expect(evaluation.offer?.identifier == "autumn")
    }

    @Test func theNextOfferIsShownWhileTheSubscriptionWillRenew() {
        var promised = renewal(signed: day(2))
        (promised.offerType, promised.offerIdentifier) = (4, "come-back")
        #expect(record(period("1", from: day(0), to: day(30)), renewal: promised).at(day(3)).nextOffer?.type == 4)
        promised.autoRenewStatus = 0
        #expect(record(period("1", from: day(0), to: day(30)), renewal: promised).at(day(3)).nextOffer == nil)
    }

    @Test(arguments: [(Int64(0), false), (1, true)])
    func aPriceIncreaseSaysWhetherTheCustomerAgreed(status: Int64, agreed: Bool) {
        var told = renewal(signed: day(2))
        (told.priceIncreaseStatus, told.renewalPrice, told.currency) = (status, 12_990, "EUR")
        let increase = record(period("1", from: day(0), to: day(30)), renewal: told).at(day(3)).priceIncrease
        #expect(increase?.isAgreed == agreed)
        #expect(increase?.renewalPrice == 12_990)
        #expect(increase?.currency == "EUR")
    }

    @Test func seatsAreThoseOfAllTransactionsOfThePeriodThatStand() {
        var first = period("1", from: day(0), to: day(30), seats: 2)
        first.quantity = 5
        var added = period("2", from: day(10), to: day(30))
        added.quantity = 3
        let record = record(first, added)
        #expect(record.at(day(1)).seats == 3)
        #expect(record.at(day(1)).nextChangeAt == day(10))
        #expect(record.at(day(10)).seats == 6)
        #expect(LineageRecord(lineage: lineage).at(day(1)).seats == nil)
    }

    @Test func purchasesOfOtherProductsOrUpgradedOnesAreNotSeatsOfAPeriod() {
        let other = period("1", "pro.month", from: day(0), to: day(30))
        let newest = period("2", from: day(5), to: day(30), signed: day(10), revoked: day(10))
        #expect(record(other, newest).at(day(11)).state == .revoked)
        let upgraded = period("1", from: day(0), to: day(30), signed: day(5), upgraded: true)
        #expect(record(upgraded, newest).at(day(11)).state == .revoked)
    }

    @Test func purchasesWithoutAnEndAreNotSeatsOfAPeriod() {
        let first = period("1", "forever", from: day(0), to: nil, type: "Non-Consumable")
        let second = period(
            "2", "forever", from: day(5), to: nil, signed: day(10), type: "Non-Consumable", revoked: day(10))
        #expect(record(first, second).at(day(11)).state == .revoked)
    }

    @Test func absurdNumbersOfSeatsAreBounded() {
        var first = period("1", from: day(0), to: day(30), seats: .min)
        first.quantity = .max
        var added = period("2", from: day(10), to: day(30), seats: .max)
        added.quantity = .min
        var third = period("3", from: day(10), to: day(30))
        third.quantity = .max
        #expect(record(first, added, third).at(day(11)).seats == .max)
        #expect(record(added).at(day(11)).seats == 0)
        var overdrawn = period("4", from: day(0), to: day(30), seats: 5)
        overdrawn.quantity = 2
        #expect(record(overdrawn).at(day(11)).seats == 0)
    }

    @Test func aGracePeriodKeepsAccessUntilItsEnd() {
        let record = record(
            period("1", from: day(0), to: day(30)),
            renewal: renewal(signed: day(30, hour: 1), retrying: true, grace: day(46)), status: 4)
        let evaluation = record.at(day(31))
        #expect(evaluation.state == .gracePeriod)
        #expect(evaluation.gracePeriodExpiresAt == day(46))
        #expect(evaluation.nextChangeAt == day(46))
        #expect(evaluation.willRenew)
        #expect(record.at(day(46)).state == .billingRetry)
        #expect(record.at(day(46)).reason == .gracePeriodOver)
    }

    @Test func aStatusOfGraceWithoutADateAfterTheEndGrantsNothing() {
        let paid = period("1", from: day(0), to: day(30))
        #expect(record(paid, status: 4, said: day(30, hour: 1)).at(day(30, hour: 2)).state == .hold)
        let old = record(
            paid, renewal: renewal(signed: day(1), grace: day(20)), status: 4, said: day(30, hour: 1))
        #expect(old.at(day(30, hour: 2)).state == .hold)
    }

    @Test func aGracePeriodEndsEarlyWhenAppleSaysSo() {
        var record = record(
            period("1", from: day(0), to: day(30)),
            renewal: renewal(signed: day(30, hour: 1), retrying: true, grace: day(46)), status: 4)
        record.fold(
            observation(
                renewal: renewal(signed: day(35), on: false, intent: 1),
                status: StatusFact(status: 2, signedDate: day(35))))
        #expect(record.at(day(36)).state == .expired)
    }

    @Test func billingRetryWithoutGraceHasNoAccessAndComesBack() {
        var record = record(
            period("1", from: day(0), to: day(30)), renewal: renewal(signed: day(30, hour: 1), retrying: true),
            status: 3)
        #expect(record.at(day(31)).state == .billingRetry)
        #expect(!record.at(day(31)).access)
        record.fold(
            observation(
                transaction: period("2", from: day(35), to: day(65)), renewal: renewal(signed: day(35)),
                status: StatusFact(status: 1, signedDate: day(35))))
        #expect(record.at(day(36)).state == .active)
    }

    @Test func recoveredInsideTheGracePeriodOldNewsIsForgotten() {
        // Apple dates the recovered period back to the missed renewal; news of the failure lies inside it.
        let record = record(
            period("1", from: day(0), to: day(30)), period("2", from: day(30), to: day(60), signed: day(33)),
            renewal: renewal(signed: day(30, hour: 1), retrying: true, grace: day(46)), status: 4)
        #expect(record.at(day(50)).state == .active)
        #expect(record.at(day(60)).state == .hold)
    }

    @Test func autoRenewOffIsCanceledAndExpiresAtThatInstant() {
        let record = record(period("1", from: day(0), to: day(30)), renewal: renewal(signed: day(3), on: false))
        let evaluation = record.at(day(29))
        #expect(evaluation.state == .canceled)
        #expect(evaluation.access)
        #expect(evaluation.pendingChange == .cancel)
        #expect(evaluation.nextProductID == nil)
        #expect(evaluation.nextChangeAt == day(30))
        #expect(record.at(day(30)).state == .expired)
        #expect(record.at(day(30)).reason == .notRenewed)
    }

    @Test("Invariant 5: a period that should have renewed is held, at most for the bound")
    func aPeriodThatShouldHaveRenewedIsHeldAtMostForTheBound() {
        let record = record(period("1", from: day(0), to: day(30)), renewal: renewal(signed: day(0)))
        let held = record.at(day(30))
        #expect(held.state == .hold)
        #expect(held.access)
        #expect(held.pendingVerification)
        #expect(held.validUntil == day(31))
        #expect(record.at(day(31, hour: -1)).state == .hold)
        #expect(record.at(day(31)).state == .expired)
        let short = EvaluationPolicy(holdBound: .seconds(3600))
        #expect(record.evaluated(at: day(30, hour: 1), map: map, policy: short).state == .expired)
    }

    @Test(arguments: [(Int64(2), LineageState.expired), (3, .billingRetry), (5, .revoked)])
    func applesOwnWordEndsAHoldAtOnce(status: Int64, state: LineageState) {
        let record = record(period("1", from: day(0), to: day(30)), status: status, said: day(30, hour: 1))
        #expect(record.at(day(30, hour: 2)).state == state)
    }

    @Test("Invariant 9: what Apple signed later than the instant asked about is foreseen")
    func whatWasSignedLaterIsForeseen() {
        let paid = period("1", from: day(0), to: day(30))
        let revoked = record(paid, status: 5, said: day(10)).at(day(5))
        #expect(revoked.nextChangeAt == day(10))
        #expect(revoked.nextState == .revoked)
        let canceled = record(paid, renewal: renewal(signed: day(10), on: false)).at(day(5))
        #expect(canceled.nextChangeAt == day(10))
        #expect(canceled.nextState == .canceled)
    }

    @Test func ofTwoWordsTheLaterCountsAndOfTwoSaidTogetherTheStatus() {
        func state(renewal: RenewalFact, status: Int64, said: Timestamp) -> LineageState {
            record(period("1", from: day(0), to: day(30)), renewal: renewal, status: status, said: said)
                .at(day(36)).state
        }
        #expect(state(renewal: renewal(signed: day(31), retrying: true), status: 2, said: day(35)) == .expired)
        #expect(state(renewal: renewal(signed: day(35), intent: 2), status: 3, said: day(31)) == .expired)
        #expect(state(renewal: renewal(signed: day(31), retrying: true), status: 2, said: day(31)) == .expired)
    }

    @Test func anExpirationIntentIsApplesWordToo() {
        let record = record(
            period("1", from: day(0), to: day(30)), renewal: renewal(signed: day(30, hour: 1), intent: 3))
        #expect(record.at(day(30)).state == .hold)
        #expect(record.at(day(30, hour: 1)).state == .expired)
    }

    @Test func staleWordDoesNotOverrideANewerTransaction() {
        let record = record(
            period("1", from: day(0), to: day(30)), period("2", "pro.month", from: day(50), to: day(80)),
            renewal: renewal(signed: day(31), on: false, next: "basic.month", intent: 1), status: 2)
        let evaluation = record.at(day(51))
        #expect(evaluation.state == .active)
        #expect(evaluation.nextProductID == "pro.month")
        #expect(record.at(day(80)).state == .hold)
    }

    @Test func aStatusOfActiveAfterTheEndMeansARenewalIsMissing() {
        let record = record(period("1", from: day(0), to: day(30)), status: 1, said: day(30, hour: 1))
        #expect(record.at(day(30, hour: 2)).state == .hold)
        #expect(record.at(day(30, hour: 2)).reason == .renewalNotSeen)
    }

    @Test func aFamilyShareIsMarkedAndEndsWhenRevoked() {
        var record = record(period("1", from: day(0), to: day(30), ownership: "FAMILY_SHARED"))
        #expect(record.at(day(1)).ownership == "FAMILY_SHARED")
        #expect(record.at(day(1)).access)
        record.fold(
            observation(
                transaction: period(
                    "1", from: day(0), to: day(30), signed: day(5), ownership: "FAMILY_SHARED", revoked: day(5),
                    revocationType: "FAMILY_REVOKE")))
        #expect(record.at(day(6)).state == .revoked)
        #expect(record.at(day(6)).reason == .withdrawn)
    }

    @Test func anAssignedSeatThatIsTakenAwayIsNoRefund() {
        let taken = period("1", from: day(0), to: day(30), revoked: day(5), revocationType: "ASSIGNMENT_REVOKE")
        #expect(record(taken).at(day(6)).reason == .withdrawn)
    }

    @Test func aLifetimePurchaseHasNoEndWhateverTheMapSays() {
        let record = record(period("1", "season", from: day(0), to: nil, type: "Non-Consumable"))
        #expect(record.at(day(100)).state == .active)
        #expect(record.at(day(100)).expiresAt == nil)
    }

    @Test func whatExpiresAndIsOfNoKnownTypeRenews() {
        #expect(record(period("1", from: day(0), to: day(30), type: "Rental")).at(day(30)).state == .hold)
        #expect(record(period("1", "pass", from: day(0), to: nil, type: nil)).at(day(30)).state == .active)
    }

    @Test("Invariant 5: a payer whose subscription lacks its end is served, and Apple is asked")
    func aSubscriptionWithoutAnEndIsServed() {
        let evaluation = record(period("1", from: day(0), to: nil)).at(day(400))
        #expect(evaluation.state == .active)
        #expect(evaluation.pendingVerification)
    }

    @Test func aLifetimePurchaseDoesNotExpireAndARefundEndsIt() {
        let bought = period("1", "forever", from: day(0), to: nil, type: "Non-Consumable")
        let evaluation = record(bought).at(day(5000))
        #expect(evaluation.state == .active)
        #expect(evaluation.validUntil == nil)
        #expect(evaluation.nextChangeAt == nil)
        #expect(!evaluation.willRenew)
        var refunded = bought
        refunded.revocationDate = day(9)
        #expect(record(refunded).at(day(9)).state == .revoked)
    }

    @Test func aNonRenewingSubscriptionLastsAsLongAsTheMapSays() {
        let record = record(period("1", "season", from: day(0), to: nil, type: "Non-Renewing Subscription"))
        #expect(record.at(day(89)).state == .active)
        #expect(record.at(day(89)).expiresAt == day(90))
        #expect(record.at(day(90)).state == .expired)
        #expect(record.at(day(90)).reason == .durationOver)
    }

    @Test func aNonRenewingSubscriptionWithoutADurationIsReportedAsSuchAndDoesNotEnd() {
        let record = record(period("1", "pass", from: day(0), to: nil, type: "Non-Renewing Subscription"))
        #expect(record.at(day(900)).state == .active)
        #expect(record.at(day(900)).reason == .durationUnknown)
    }

    @Test func aNotificationAboutAnOlderTransactionIsNotTakenForTheLatest() {
        let record = record(
            period("2", from: day(30), to: day(60)), period("1", from: day(0), to: day(30), signed: day(50)))
        #expect(record.at(day(51)).expiresAt == day(60))
    }

    @Test func anObservationWithoutFactsChangesNothing() {
        var record = record(period("1", from: day(0), to: day(30)))
        let before = record
        #expect(!changes(&record, observation()))
        #expect(record == before)
    }

    @Test func aLineageWithoutABegunPeriodGrantsNothing() {
        let future = record(period("1", from: day(5), to: day(35))).at(day(4))
        #expect(future.reason == .notBegun)
        #expect(!future.access)
        #expect(future.nextChangeAt == day(5))
        #expect(record(renewal: renewal(signed: day(0))).at(day(4)).reason == .noTransaction)
    }

    @Test func aProductTheMapDoesNotKnowGrantsNothingAndIsVisible() {
        let evaluation = record(period("1", "unheard.of", from: day(0), to: day(30))).at(day(1))
        #expect(evaluation.state == .active)
        #expect(evaluation.entitlements.isEmpty)
        #expect(!evaluation.isMapped)
    }
}
