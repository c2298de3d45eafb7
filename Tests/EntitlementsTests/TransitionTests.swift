import TestSupport
import Testing
import Time

@testable import Entitlements

@Suite("Transitions") struct TransitionTests {
    // MARK: The table

    @Test func noTransitionStandsInTwoRows() {
        var seen: Set<String> = []
        for row in LegalTransitions.rows where row.through != [.answer] {
            for from in row.from {
                for to in row.to {
                    for cause in row.through {
                        let step = "\(from?.rawValue ?? "nothing") to \(to) through \(cause)"
                        #expect(seen.insert(step).inserted, "\(step)")
                        #expect(from != to, "\(step)")
                    }
                }
            }
        }
    }

    @Test(arguments: LineageState.allCases) func everyStateIsEnteredAndLeftOtherwiseThanByAnAnswer(state: LineageState)
    {
        let others = LegalTransitions.rows.filter { $0.through != [.answer] && $0.from != [nil] }
        check(others.contains { $0.to.contains(state) }, "entered")
        check(others.contains { $0.from.contains(state) }, "left")
    }

    @Test func whatCannotBeIsNotKnown() {
        func known(_ from: LineageState?, _ to: LineageState, _ cause: TransitionCause) -> Bool {
            LegalTransitions.knows(from: from, to: to, through: cause)
        }
        #expect(!known(.revoked, .active, .renewal))
        #expect(!known(.expired, .canceled, .preference))
        #expect(!known(.active, .expired, .other))
        #expect(!known(.billingRetry, .gracePeriod, .time))
        #expect(!known(nil, .active, .map))
        #expect(known(.revoked, .active, .refundReversed))
        #expect(known(.active, .active, .other))
        #expect(known(.expired, .gracePeriod, .answer))
    }

    // MARK: What a history says

    /// Folds news one after the other, each verified when it was signed, and keeps the history.
    private struct Story {
        var record: LineageRecord?
        var history: [HistoryEntry] = []

        mutating func hear(
            _ type: TransitionCause, _ fact: TransactionFact? = nil, _ renewal: RenewalFact? = nil,
            source: Observation.Source = .notification, verified: Timestamp? = nil
        ) -> [HistoryEntry] {
            let signed = [fact?.signedDate, renewal?.signedDate].compactMap(\.self).max() ?? day(0)
            var after = record ?? LineageRecord(lineage: lineage)
            let news = Observation(
                lineage: lineage, source: source, signedDate: signed, notificationType: type.rawValue,
                transaction: fact, renewal: renewal)
            guard after.fold(news) else { return [] }
            let entries = HistoryEntry.made(
                by: news, through: type, before: record, after: after, verifiedAt: verified ?? signed,
                since: HistoryMark(of: history), map: map, policy: .standard)
            record = after
            history += entries
            return entries
        }
    }

    private func steps(_ entries: [HistoryEntry]) -> [String] {
        entries.map { entry in
            "\(entry.from?.rawValue ?? "nothing") \(entry.to?.rawValue ?? "nothing") \(entry.cause.rawValue)"
                + (entry.detail.map { " \($0)" } ?? "") + (entry.isUnexpected ? " !" : "")
        }
    }

    @Test func aFirstPurchaseComesFromNothing() {
        var story = Story()
        let entries = story.hear(.purchase, period("1", from: day(0), to: day(30)))
        #expect(steps(entries) == ["nothing active purchase"])
        #expect(entries.first?.at == day(0))
        #expect(entries.first?.productID == "basic.month")
        #expect(entries.first?.notificationType == "purchase")
    }

    @Test func whatTimeMadeStandsBeforeWhatTheNewsMade() {
        var story = Story()
        _ = story.hear(.purchase, period("1", from: day(0), to: day(30)))
        let entries = story.hear(.renewal, period("2", from: day(30), to: day(60)), verified: day(30, hour: 5))
        #expect(steps(entries) == ["active hold time", "hold active renewal renewed"])
        #expect(entries.map(\.at) == [day(30), day(30, hour: 5)])
        #expect(entries[0].notificationType == nil)
    }

    @Test func aRenewalThatWasChargedEarlyIsAChangeOfTime() {
        var story = Story()
        _ = story.hear(.purchase, period("1", from: day(0), to: day(30)))
        let early = story.hear(.renewal, period("2", "pro.month", from: day(30), to: day(60), signed: day(29)))
        #expect(steps(early) == ["active active renewal renewedAhead"])
        #expect(
            early.first?.sentence == "still active, renewed: ahead of time, the period begins later (renewal)")
        let entries = story.hear(.preference, nil, renewal(signed: day(40), on: false))
        #expect(steps(entries) == ["active active time product", "active canceled preference renewalOff"])
    }

    @Test func anOlderPeriodIsCalledSoAndItsRefundToo() {
        var story = Story()
        _ = story.hear(.purchase, period("1", from: day(0), to: day(30)))
        _ = story.hear(.renewal, period("2", from: day(30), to: day(60)))
        #expect(
            steps(story.hear(.expiry, period("1", from: day(0), to: day(30), signed: day(31)))) == [
                "active active expiry olderTransaction"
            ])
        #expect(
            steps(story.hear(.refund, period("1", from: day(0), to: day(30), signed: day(32), revoked: day(32)))) == [
                "active active refund olderRefund"
            ])
    }

    @Test func aRefundIsNotCalledAnotherNumberOfSeats() {
        var story = Story()
        var bought = period("1", from: day(0), to: day(30))
        bought.quantity = 2
        _ = story.hear(.purchase, bought)
        (bought.signedDate, bought.revocationDate) = (day(5), day(5))
        #expect(steps(story.hear(.refund, bought)) == ["active revoked refund"])
    }

    @Test(arguments: [day(5), day(7)]) func aRefundOfWhatHasNoSeatsSaysNothingOfSeats(takenBack: Timestamp) {
        for bought in [
            period("1", from: day(0), to: day(30)),
            period("1", "forever", from: day(0), to: nil, type: "Non-Consumable"),
        ] {
            var (story, fact) = (Story(), bought)
            fact.quantity = 1
            _ = story.hear(.purchase, fact)
            (fact.signedDate, fact.revocationDate, fact.payloadHash) = (day(5), takenBack, "refund")
            let entries = story.hear(.refund, fact)
            // What is taken back later than it was signed stands until then.
            let isNow = takenBack == day(5)
            #expect(steps(entries) == [isNow ? "active revoked refund" : "active active refund"])
            (fact.signedDate, fact.revocationDate, fact.payloadHash) = (day(6), nil, "reversal")
            let reversal = story.hear(.refundReversed, fact)
            #expect(steps(reversal) == [isNow ? "revoked active refundReversed" : "active active refundReversed"])
        }
    }

    @Test func seatsAreToldWhereTheyChange() {
        var story = Story()
        var bought = period("1", from: day(0), to: day(30))
        bought.quantity = 3
        _ = story.hear(.purchase, bought)
        (bought.signedDate, bought.revokedSeatQuantity) = (day(5), 2)
        #expect(steps(story.hear(.refund, bought)) == ["active active refund seats"])
        var added = period("2", from: day(6), to: day(30))
        added.quantity = 1
        #expect(steps(story.hear(.preference, added)) == ["active active preference seats"])
        (added.signedDate, added.revocationDate) = (day(7), day(7))
        #expect(steps(story.hear(.refund, added)) == ["active active refund seats"])
    }

    @Test func aYearOfSilenceIsFilledIn() throws {
        var story = Story()
        _ = story.hear(.purchase, period("1", from: day(0), to: day(30)))
        let record = try #require(story.record)
        let mark = try #require(HistoryMark(of: story.history))
        let entries = HistoryEntry.madeByTime(in: record, since: mark, until: day(365), map: map, policy: .standard)
        #expect(steps(entries) == ["active hold time", "hold expired time"])
        #expect(entries.map(\.at) == [day(30), day(31)])
        #expect(
            HistoryEntry.madeByTime(in: record, since: mark, until: day(30), map: map, policy: .standard).count == 1)
        #expect(
            HistoryEntry.madeByTime(in: record, since: mark, until: day(29), map: map, policy: .standard).isEmpty)
    }

    @Test func aRepetitionLeavesNothing() {
        var story = Story()
        _ = story.hear(.purchase, period("1", from: day(0), to: day(30)))
        #expect(story.hear(.purchase, period("1", from: day(0), to: day(30)), verified: day(3)).isEmpty)
    }

    @Test func aNotificationThatChangesNothingToBeSeenIsStillTold() {
        var story = Story()
        _ = story.hear(.purchase, period("1", from: day(0), to: day(30)))
        #expect(
            steps(story.hear(.other, period("1", from: day(0), to: day(30), signed: day(3)))) == ["active active other"]
        )
        // An answer that says nothing new is not.
        #expect(story.hear(.answer, period("1", from: day(0), to: day(30), signed: day(4)), source: .status).isEmpty)
    }

    @Test func whatTheTableDoesNotKnowIsMarkedAndApplied() {
        var story = Story()
        let refunded = period("1", from: day(0), to: day(30), signed: day(5), revoked: day(5))
        _ = story.hear(.refund, refunded)
        let entries = story.hear(.other, period("1", from: day(0), to: day(30), signed: day(6)))
        #expect(steps(entries) == ["revoked active other !"])
    }

    @Test func newsThatComesLateIsNotHeldAgainstTheTable() {
        var story = Story()
        _ = story.hear(.purchase, period("1", from: day(0), to: day(30)))
        // Turned off in the second period, of which nothing is known yet.
        _ = story.hear(.preference, nil, renewal(signed: day(31), on: false))
        #expect(story.history.last?.to == .expired)
        let entries = story.hear(.renewal, period("2", from: day(30), to: day(60)), verified: day(32))
        #expect(steps(entries) == ["expired canceled renewal renewed"])
    }

    @Test func aClockBehindApplesPutsNothingDownToTime() {
        var story = Story()
        _ = story.hear(.purchase, period("1", from: day(0), to: day(30)))
        let entries = story.hear(.preference, nil, renewal(signed: day(3, hour: 1), on: false), verified: day(3))
        #expect(steps(entries) == ["active canceled preference renewalOff"])
        let next = story.hear(.preference, nil, renewal(signed: day(4)))
        #expect(steps(next) == ["canceled active preference renewalOn"])
    }

    @Test func aHistoryIsAChainWhoeverWritesIt() {
        var story = Story()
        _ = story.hear(.purchase, period("1", from: day(0), to: day(30)))
        _ = story.hear(.failure, nil, renewal(signed: day(30), retrying: true, grace: day(36)))
        _ = story.hear(.recovery, period("2", from: day(40), to: day(70)), renewal(signed: day(40)))
        _ = story.hear(.refund, period("2", from: day(40), to: day(70), signed: day(50), revoked: day(50)))
        _ = story.hear(.refundReversed, period("2", from: day(40), to: day(70), signed: day(80)))
        for (entry, next) in zip(story.history, story.history.dropFirst()) {
            #expect(entry.to == next.from)
            #expect(entry.at <= next.at)
        }
        #expect(
            steps(story.history) == [
                "nothing active purchase", "active hold time", "hold gracePeriod failure",
                "gracePeriod billingRetry time", "billingRetry active recovery renewed",
                "active revoked refund", "revoked expired refundReversed",
            ])
    }

    @Test func otherPoliciesAndMapsAreNotPutDownToTime() throws {
        let season = period("1", "season", from: day(0), to: nil, type: "Non-Renewing Subscription")
        let before = record(season)
        var after = before
        var again = season
        (again.signedDate, again.payloadHash) = (day(100), "again")
        let news = observation(transaction: again)
        after.fold(news)
        var longer = map
        longer.products["season"]?.duration = .seconds(200 * 86_400)
        let entries = HistoryEntry.made(
            by: news, through: .other, before: before, after: after, verifiedAt: day(100),
            since: HistoryMark(at: day(90), state: .expired), map: longer, policy: .standard)
        #expect(steps(entries) == ["expired active map", "active active other"])
    }

    @Test func aHistoryOfTransfersAloneSaysNothingOfStates() {
        let transfer = HistoryEntry(kind: .transfer, at: day(3), cause: .other, toCustomer: "anna")
        #expect(HistoryMark(of: [transfer]) == nil)
        let active = HistoryEntry(kind: .change, at: day(2), cause: .other, to: .active)
        #expect(HistoryMark(of: [active, transfer]) == HistoryMark(at: day(2), state: .active))
    }
}
