import Testing
import Time

@testable import Simulator

/// The lives that an account can lead, and what Apple says of each step.
@Suite struct StoreLifeTests {
    private var store = Demo.store()

    private mutating func buy(_ product: String, at time: Timestamp = Demo.start, offer: String? = nil) throws -> String
    {
        let events = try store.buy(product, by: Demo.account, offer: offer, at: time)
        return try #require(events.notifications.first?.transaction).originalID
    }

    private func day(_ count: Int) -> Timestamp { Demo.start + Demo.day * count }

    private func state(at time: Timestamp, of account: String = Demo.account) throws -> StoreTruth {
        try #require(store.truth(of: account, at: time).first)
    }

    @Test mutating func aFirstPurchaseIsSubscribedInitialBuy() throws {
        let events = try store.buy("premium.monthly", by: Demo.account, at: Demo.start)
        #expect(events.names == ["SUBSCRIBED/INITIAL_BUY"])
        let notification = try #require(events.notifications.first)
        let transaction = try #require(notification.transaction)
        #expect(transaction.id == transaction.originalID)
        #expect(transaction.expiresDate == day(30))
        #expect(transaction.accountToken == Demo.account)
        #expect(transaction.reason == .purchase)
        #expect(notification.status == 1)
        #expect(notification.renewal?.renewalDate == day(30))
        #expect(notification.renewal?.price == 9990)
        #expect(try state(at: Demo.start).state == .active)
    }

    @Test mutating func itRenewsADayBeforeItsEndWithoutAGap() throws {
        let id = try buy("premium.monthly")
        #expect(store.advance(to: day(29) - .milliseconds(1)).isEmpty)
        let events = store.advance(to: day(29))
        #expect(events.names == ["DID_RENEW"])
        let transaction = try #require(events.notifications.first?.transaction)
        #expect(transaction.originalID == id)
        #expect(transaction.id != id)
        #expect(transaction.purchaseDate == day(30))
        #expect(transaction.expiresDate == day(60))
        #expect(transaction.originalPurchaseDate == Demo.start)
        #expect(transaction.reason == .renewal)
        #expect(events.notifications.first?.signedDate == day(29))
        #expect(try state(at: day(45)).access)
    }

    @Test mutating func aYearOfNeglectIsCaughtUpInOrder() throws {
        _ = try buy("premium.monthly")
        let events = store.advance(to: day(365))
        #expect(events.count == 12)
        let dates = events.map(\.time)
        #expect(dates == dates.sorted())
        #expect(Set(dates).count == 12)
    }

    @Test mutating func cancelledItLastsToItsEndAndExpiresVoluntarily() throws {
        let id = try buy("premium.monthly")
        let cancelled = try store.setRenewal(false, of: id, at: day(1))
        #expect(cancelled.names == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"])
        #expect(try state(at: day(20)).state == .canceled)
        #expect(try state(at: day(20)).access)
        let events = store.advance(to: day(30))
        #expect(events.names == ["EXPIRED/VOLUNTARY"])
        #expect(events.notifications.first?.status == 2)
        #expect(events.notifications.first?.renewal?.subscription.phase == .expired(.cancelled))
        #expect(try !state(at: day(30)).access)
    }

    @Test mutating func autoRenewalComesBackOn() throws {
        let id = try buy("premium.monthly")
        _ = try store.setRenewal(false, of: id, at: day(1))
        #expect(
            try store.setRenewal(true, of: id, at: day(2)).names == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED"])
        #expect(store.advance(to: day(30)).names == ["DID_RENEW"])
        #expect(throws: StoreError.self) { try store.setRenewal(true, of: id, at: day(31)) }
    }

    @Test mutating func bughtAgainAfterTheEndItIsAResubscriptionOfTheSameLineage() throws {
        let id = try buy("premium.monthly")
        _ = try store.setRenewal(false, of: id, at: day(1))
        _ = store.advance(to: day(40))
        let events = try store.buy("basic.monthly", by: Demo.account, at: day(40))
        #expect(events.names == ["SUBSCRIBED/RESUBSCRIBE"])
        let transaction = try #require(events.notifications.first?.transaction)
        #expect(transaction.originalID == id)
        #expect(transaction.expiresDate == day(70))
        #expect(try state(at: day(41)).productID == "basic.monthly")
    }

    @Test mutating func boughtTwiceIsRefused() throws {
        _ = try buy("premium.monthly")
        #expect(throws: StoreError.self) { try store.buy("premium.monthly", by: Demo.account, at: day(1)) }
    }

    @Test mutating func aFailedPaymentWithGraceKeepsAccessThenLosesItThenExpires() throws {
        _ = try buy("premium.monthly")
        _ = try store.setPayment(of: Demo.account, fails: true, grace: true, at: day(1))
        let failed = store.advance(to: day(30))
        #expect(failed.names == ["DID_FAIL_TO_RENEW/GRACE_PERIOD"])
        #expect(failed.notifications.first?.status == 4)
        #expect(try state(at: day(31)).state == .gracePeriod)
        #expect(try state(at: day(31)).accessUntil == day(46))
        let over = store.advance(to: day(46))
        #expect(over.names == ["GRACE_PERIOD_EXPIRED"])
        #expect(over.notifications.first?.status == 3)
        #expect(try !state(at: day(46)).access)
        #expect(store.advance(to: day(90)).names == ["EXPIRED/BILLING_RETRY"])
        #expect(try state(at: day(90)).state == .expired)
    }

    @Test mutating func withoutGraceAFailedPaymentEndsAccessUntilItRecovers() throws {
        let id = try buy("premium.monthly")
        _ = try store.setPayment(of: Demo.account, fails: true, at: day(1))
        let failed = store.advance(to: day(30))
        #expect(failed.names == ["DID_FAIL_TO_RENEW"])
        #expect(failed.notifications.first?.status == 3)
        #expect(try state(at: day(31)).state == .billingRetry)
        #expect(try !state(at: day(31)).access)
        let mended = try store.setPayment(of: Demo.account, fails: false, at: day(35))
        #expect(mended.names == ["payment mended", "DID_RENEW/BILLING_RECOVERY"])
        let transaction = try #require(mended.notifications.first?.transaction)
        #expect(transaction.purchaseDate == day(35))
        #expect(transaction.originalID == id)
        #expect(try state(at: day(35)).access)
    }

    @Test mutating func recoveredInGraceTheBillingDateStays() throws {
        _ = try buy("premium.monthly")
        _ = try store.setPayment(of: Demo.account, fails: true, grace: true, at: day(1))
        _ = store.advance(to: day(33))
        let mended = try store.setPayment(of: Demo.account, fails: false, at: day(33))
        #expect(mended.notifications.first?.name == "DID_RENEW/BILLING_RECOVERY")
        #expect(mended.notifications.first?.transaction?.purchaseDate == day(30))
        #expect(store.advance(to: day(59)).names == ["DID_RENEW"])
    }

    @Test mutating func anUpgradeTakesEffectAtOnce() throws {
        let id = try buy("basic.monthly")
        let events = try store.change(id, to: "premium.monthly", at: day(10))
        #expect(events.names == ["DID_CHANGE_RENEWAL_PREF/UPGRADE"])
        let transaction = try #require(events.notifications.first?.transaction)
        #expect(transaction.originalID == id)
        #expect(transaction.product.id == "premium.monthly")
        #expect(transaction.expiresDate == day(40))
        #expect(store.transactions[id]?.isUpgraded == true)
        #expect(try state(at: day(10)).productID == "premium.monthly")
    }

    @Test mutating func aDowngradeWaitsForTheRenewalAndCanBeCalledOff() throws {
        let id = try buy("premium.monthly")
        let down = try store.change(id, to: "basic.monthly", at: day(10))
        #expect(down.names == ["DID_CHANGE_RENEWAL_PREF/DOWNGRADE"])
        #expect(down.notifications.first?.transaction?.product.id == "premium.monthly")
        #expect(down.notifications.first?.renewal?.subscription.nextProductID == "basic.monthly")
        #expect(try store.change(id, to: "premium.monthly", at: day(11)).names == ["DID_CHANGE_RENEWAL_PREF"])
        _ = try store.change(id, to: "basic.monthly", at: day(12))
        let renewed = store.advance(to: day(30))
        #expect(renewed.notifications.first?.transaction?.product.id == "basic.monthly")
        #expect(try state(at: day(31)).productID == "basic.monthly")
    }

    @Test(arguments: [("basic.monthly", "trial.monthly", true), ("premium.monthly", "premium.yearly", false)])
    mutating func acrossAtOnceOnlyForTheSameLength(_ from: String, _ to: String, _ isAtOnce: Bool) throws {
        let id = try buy(from)
        let events = try store.change(id, to: to, at: day(10))
        #expect(events.names == ["DID_CHANGE_RENEWAL_PREF/\(isAtOnce ? "UPGRADE" : "DOWNGRADE")"])
        #expect(try state(at: day(10)).productID == (isAtOnce ? to : from))
    }

    @Test mutating func aRefundOfTheRunningPeriodRevokesAndAReversalRestores() throws {
        let id = try buy("premium.monthly")
        let refunded = try store.refund(id, reason: 1, at: day(5))
        #expect(refunded.names == ["REFUND"])
        let notification = try #require(refunded.notifications.first)
        #expect(notification.status == 5)
        #expect(notification.transaction?.revocation?.date == day(5))
        #expect(notification.transaction?.revocation?.reason == 1)
        #expect(try state(at: day(5)).state == .revoked)
        #expect(try !state(at: day(5)).access)
        #expect(throws: StoreError.self) { try store.refund(id, at: day(6)) }

        let reversed = try store.reverseRefund(id, at: day(7))
        #expect(reversed.names == ["REFUND_REVERSED"])
        #expect(reversed.notifications.first?.transaction?.revocation == nil)
        #expect(reversed.notifications.first?.status == 1)
        #expect(try state(at: day(7)).access)
        #expect(store.advance(to: day(30)).names == ["EXPIRED/VOLUNTARY"])
    }

    @Test mutating func aRefundOfAnOlderPeriodLeavesThePresentOne() throws {
        let id = try buy("premium.monthly")
        _ = store.advance(to: day(35))
        let refunded = try store.refund(id, at: day(35))
        #expect(refunded.notifications.first?.transaction?.id == id)
        #expect(refunded.notifications.first?.status == 1)
        #expect(try state(at: day(35)).access)
    }

    @Test mutating func aRefundTakesThePeriodThatWasChargedEarlyWithIt() throws {
        let id = try buy("premium.monthly")
        _ = store.advance(to: day(29))
        let refunded = try store.refund(store.refundable(of: Demo.account, at: day(29)), at: day(29))
        #expect(refunded.names == ["REFUND", "REFUND"])
        #expect(refunded.notifications.first?.transaction?.id == id)
        #expect(try !state(at: day(29)).access)
        #expect(try !state(at: day(31)).access)
        #expect(store.advance(to: day(400)).isEmpty)
    }

    @Test mutating func byItsProductsNameThePeriodThatRunsIsRefundedAndNotTheOneChargedEarly() throws {
        let id = try buy("premium.monthly")
        let early = store.advance(to: day(29)).notifications.first?.transaction?.id
        #expect(early != nil)
        let named = try store.refundable(of: Demo.account, "premium.monthly", at: day(29))
        #expect(named == id)
        let begun = try store.refundable(of: Demo.account, "premium.monthly", at: day(30))
        #expect(begun == early)
    }

    @Test mutating func seatsAreNotAddedWhileTheRenewalCannotBeCharged() throws {
        let id = try #require(
            try store.buy(
                "premium.monthly", by: Demo.account, seats: SeatPurchase(quantity: 3, invitation: .developer),
                at: Demo.start
            ).notifications.first?.transaction
        ).id
        _ = try store.setPayment(of: Demo.account, fails: true, grace: true, at: day(1))
        _ = store.advance(to: day(31))
        #expect(try state(at: day(31)).state == .gracePeriod)
        let refusal = #expect(throws: StoreError.self) { try store.changeSeats(of: id, to: 6, at: day(31)) }
        #expect(refusal?.code == .billingProblem)
        _ = try store.setPayment(of: Demo.account, fails: false, at: day(32))
        let recovered = try state(at: day(32))
        #expect(recovered.state == .active)
        #expect(recovered.access)
        #expect(recovered.accessUntil == day(60))
        let events = try store.changeSeats(of: id, to: 6, at: day(33))
        #expect(events.notifications.first?.transaction?.quantity == 3)
        #expect(events.notifications.first?.transaction?.expiresDate == day(60))
    }

    @Test mutating func aRefundRequestAndItsRefusalChangeNothing() throws {
        let id = try buy("premium.monthly")
        let request = try store.requestRefund(id, at: day(1))
        #expect(request.names == ["CONSUMPTION_REQUEST"])
        #expect(request.notifications.first?.consumptionRequestReason == "UNINTENDED_PURCHASE")
        #expect(try store.declineRefund(id, at: day(2)).names == ["REFUND_DECLINED"])
        #expect(try state(at: day(2)).access)
    }

    @Test mutating func oneTimePurchasesAreCharges() throws {
        let lifetime = try store.buy("lifetime", by: Demo.account, at: Demo.start)
        #expect(lifetime.names == ["ONE_TIME_CHARGE"])
        #expect(lifetime.notifications.first?.transaction?.expiresDate == nil)
        #expect(lifetime.notifications.first?.renewal == nil)
        #expect(try state(at: day(10_000)).access)
        #expect(throws: StoreError.self) { try store.buy("lifetime", by: Demo.account, at: day(1)) }
        let id = try #require(lifetime.notifications.first?.transaction).id
        #expect(try store.refund(id, at: day(2)).names == ["REFUND"])
        #expect(try !state(at: day(2)).access)
        #expect(try store.buy("coins", by: Demo.account, at: day(3)).names == ["ONE_TIME_CHARGE"])
        #expect(try store.buy("coins", by: Demo.account, at: day(3)).names == ["ONE_TIME_CHARGE"])
    }

    @Test mutating func aFreeTrialLastsItsOwnLengthAndOnlyOnce() throws {
        let events = try store.buy("trial.monthly", by: Demo.account, at: Demo.start)
        let trial = try #require(events.notifications.first?.transaction)
        #expect(trial.offer?.type == .introductory)
        #expect(trial.price == 0)
        #expect(trial.expiresDate == day(7))
        let renewed = try #require(store.advance(to: day(7)).notifications.first?.transaction)
        #expect(renewed.offer == nil)
        #expect(renewed.price == 4990)
        #expect(renewed.expiresDate == day(37))
    }

    @Test mutating func payAsYouGoRunsForItsPeriodsAndAWinBackOfferIsPaidUpFront() throws {
        let id = try buy("steps.monthly")
        let prices = store.advance(to: day(62)).notifications.compactMap { $0.transaction?.price }
        #expect(prices == [990, 4990])
        _ = try store.setRenewal(false, of: id, at: day(62))
        _ = store.advance(to: day(100))
        let back = try store.buy("steps.monthly", by: Demo.account, offer: "back", at: day(100))
        #expect(back.names == ["SUBSCRIBED/RESUBSCRIBE"])
        #expect(back.notifications.first?.transaction?.offer?.type == .winBack)
        #expect(back.notifications.first?.transaction?.expiresDate == day(190))
    }

    @Test mutating func aPriceIncreaseWithoutConsentEndsTheSubscription() throws {
        let id = try buy("premium.monthly")
        #expect(try store.raisePrice(of: id, to: 12_990, at: day(1)).names == ["PRICE_INCREASE/PENDING"])
        #expect(store.advance(to: day(30)).names == ["EXPIRED/PRICE_INCREASE"])
    }

    @Test mutating func aPriceIncreaseWithConsentIsChargedAtTheRenewal() throws {
        let id = try buy("premium.monthly")
        _ = try store.raisePrice(of: id, to: 12_990, at: day(1))
        #expect(try store.consentToPrice(of: id, at: day(2)).names == ["PRICE_INCREASE/ACCEPTED"])
        #expect(store.advance(to: day(30)).notifications.first?.transaction?.price == 12_990)
    }

    @Test mutating func anExtensionMovesTheEnd() throws {
        let id = try buy("premium.monthly")
        let events = try store.extend(id, days: 10, at: day(1))
        #expect(events.names == ["RENEWAL_EXTENDED"])
        #expect(events.notifications.first?.transaction?.expiresDate == day(40))
        #expect(store.advance(to: day(38)).isEmpty)
    }

    @Test mutating func aFamilyMemberFollowsTheOwnerUntilRevoked() throws {
        let member = try store.createAccount(at: Demo.start).token
        let id = try buy("premium.yearly")
        let shared = try store.share(id, with: member, at: day(1))
        #expect(shared.names == ["SUBSCRIBED/INITIAL_BUY"])
        let transaction = try #require(shared.notifications.first?.transaction)
        #expect(transaction.ownership == .familyShared)
        #expect(transaction.accountToken == nil)
        #expect(transaction.originalID != id)
        #expect(try state(at: day(1), of: member).access)
        #expect(store.advance(to: day(364)).names == ["DID_RENEW", "DID_RENEW"])
        let revoked = try store.revoke(transaction.originalID, at: day(370))
        #expect(revoked.names == ["REVOKE"])
        #expect(revoked.notifications.first?.transaction?.revocation?.kind == .family)
        #expect(revoked.notifications.first?.status == 5)
        #expect(try !state(at: day(370), of: member).access)
        #expect(try state(at: day(370)).access)
    }

    @Test mutating func aFamilyMemberIsToldOfWhatTheOwnerDoes() throws {
        let member = try store.createAccount(at: Demo.start).token
        let id = try buy("premium.yearly")
        _ = try store.share(id, with: member, at: day(1))
        let cancelled = try store.setRenewal(false, of: id, at: day(2))
        #expect(cancelled.map(\.account) == [Demo.account, member])
        #expect(try state(at: day(2), of: member).state == .canceled)
        // The other product of this level is not shared, and lasts another length: it comes with the renewal.
        #expect(try store.change(id, to: "premium.monthly", at: day(3)).count == 2)
        #expect(
            store.advance(to: day(365)).names == [
                "DID_RENEW", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
            ])
        #expect(try !state(at: day(366), of: member).access)
        #expect(try store.buy("basic.monthly", by: member, at: day(367)).names == ["SUBSCRIBED/INITIAL_BUY"])
        #expect(try state(at: day(366)).productID == "premium.monthly")
    }

    @Test mutating func aRefundOfTheOwnerRevokesTheFamily() throws {
        let member = try store.createAccount(at: Demo.start).token
        let id = try buy("premium.yearly")
        _ = try store.share(id, with: member, at: day(1))
        #expect(try store.refund(id, at: day(2)).names == ["REFUND", "REVOKE"])
        #expect(try !state(at: day(2), of: member).access)
    }

    @Test mutating func factsOfOneLineageNeverCarryTheSameDate() throws {
        let id = try buy("premium.monthly")
        var dates = [Demo.start]
        for on in [false, true, false, true] {
            dates += try store.setRenewal(on, of: id, at: Demo.start).map(\.time)
        }
        #expect(Set(dates).count == 5)
        #expect(dates == dates.sorted())
    }

    @Test mutating func theUnknownIsNamed() throws {
        #expect(throws: StoreError.self) { try store.buy("nothing", by: Demo.account, at: Demo.start) }
        #expect(throws: StoreError.self) { try store.buy("lifetime", by: "nobody", at: Demo.start) }
        #expect(throws: StoreError.self) { try store.createAccount(token: "not-a-uuid", at: Demo.start) }
        #expect(throws: StoreError.self) { try store.createAccount(token: Demo.account, at: Demo.start) }
    }
}
