import Testing
import Time

@testable import Entitlements

/// When Apple is asked about what, situation by situation; what must hold of every record is in `CadencePropertyTests`.
@Suite struct CadenceTests {
    private let monthly = period("1", from: day(0), to: day(30))

    private func next(
        _ record: LineageRecord, at instant: Timestamp, asked: Cadence.Asked? = nil
    ) throws -> DueCheck {
        try #require(Cadence.next(for: record, map: map, at: instant, asked: asked))
    }

    /// The time to the next check, in hours.
    private func hours(_ check: DueCheck, from instant: Timestamp) -> Double {
        (check.at - instant) / .seconds(3600)
    }

    @Test func aFreshPurchaseIsCheckedDaily() throws {
        let check = try next(record(monthly), at: day(0))
        #expect(check.row == .fresh)
        #expect(check.urgency == .routine)
        #expect((19.2...24).contains(hours(check, from: day(0))))
        // What Apple signed meanwhile is as good as an answer.
        let later = try next(record(monthly, renewal: renewal(signed: day(2))), at: day(2, hour: 1))
        #expect((19.2...24).contains(hours(later, from: day(2))))
    }

    @Test func theMiddleOfAMonthIsCheckedEveryThreeDays() throws {
        let check = try next(record(monthly, renewal: renewal(signed: day(10))), at: day(10))
        #expect(check.row == .running)
        #expect((57.6...72).contains(hours(check, from: day(10))))
    }

    @Test func aYearIsCheckedWeekly() throws {
        let year = period("1", "basic.year", from: day(0), to: day(365))
        let check = try next(record(year, renewal: renewal(signed: day(100))), at: day(100))
        #expect(check.row == .long)
        #expect((134.4...168).contains(hours(check, from: day(100))))
    }

    @Test func theLastDaysAreCheckedMoreOften() throws {
        let check = try next(record(monthly, renewal: renewal(signed: day(28))), at: day(28))
        #expect(check.row == .ending)
        #expect(check.urgency == .ending)
        #expect((9.6...12).contains(hours(check, from: day(28))))
    }

    @Test func anEndWithoutAWordIsCheckedWithinSeconds() throws {
        let known = record(monthly, renewal: renewal(signed: day(29, hour: 20)))
        let check = try next(known, at: day(29, hour: 21))
        #expect(check.row == .hold)
        #expect(check.urgency == .access)
        #expect(check.at > day(30) && check.at <= day(30) + .seconds(5))
        // However long it has been over when somebody looks.
        #expect(try next(known, at: day(30, hour: 3)).at == day(30, hour: 3))
    }

    @Test func aHoldIsCheckedAgainAndAgainAtGrowingIntervals() throws {
        let known = record(monthly)
        var (checks, instant) = (0, day(30))
        var pauses: [Duration] = []
        while instant < day(31) {
            let check = try next(known, at: instant, asked: instant > day(30) ? .answered(instant) : nil)
            if check.at >= day(31) { break }
            #expect(check.row == .hold)
            pauses.append(check.at - instant)
            instant = check.at
            checks += 1
        }
        #expect((40...80).contains(checks))
        #expect(pauses[0] <= .seconds(5))
        let longest = try #require(pauses.max())
        #expect(longest == pauses.dropFirst(8).max())
        #expect(longest <= .seconds(1800))
    }

    @Test func whatWillNotRenewIsCheckedOnceBeforeItsEndAndOnceAfterIt() throws {
        let known = record(monthly, renewal: renewal(signed: day(0, hour: 1), on: false))
        let before = try next(known, at: day(0, hour: 1))
        #expect(before.row == .lastLook)
        #expect(before.at >= day(29, hour: 23) && before.at < day(30))
        // Apple said that it is still off.
        let off = record(monthly, renewal: renewal(signed: before.at, on: false))
        let after = try next(off, at: before.at)
        #expect(after.row == .ended)
        #expect(after.at > day(30) && after.at <= day(30) + .seconds(5))
        let over = record(monthly, renewal: renewal(signed: after.at, on: false))
        let late = try next(over, at: after.at)
        #expect(late.row == .expired)
        #expect((19...24).contains(hours(late, from: after.at)))
    }

    @Test func aLongPlanThatWillNotRenewIsNotForgottenForAYear() throws {
        let year = period("1", "basic.year", from: day(0), to: day(365))
        let check = try next(record(year, renewal: renewal(signed: day(10), on: false)), at: day(10))
        #expect(check.row == .canceled)
        #expect((32 * 24...40 * 24).contains(Int(hours(check, from: day(10)))))
    }

    @Test func aGracePeriodIsCheckedDailyAndAroundItsEnd() throws {
        func known(_ signed: Timestamp) -> LineageRecord {
            record(monthly, renewal: renewal(signed: signed, retrying: true, grace: day(46)))
        }
        let check = try next(known(day(30)), at: day(30))
        #expect(check.row == .grace)
        #expect((19.2...24).contains(hours(check, from: day(30))))
        let look = try next(known(day(45, hour: 20)), at: day(45, hour: 20))
        #expect(look.row == .lastLook)
        #expect(look.at >= day(45, hour: 23) && look.at < day(46))
        let after = try next(known(look.at), at: look.at)
        #expect(after.row == .ended)
        #expect(after.at > day(46) && after.at <= day(46) + .seconds(5))
    }

    @Test func billingRetryIsCheckedDailyAtFirstAndAtItsEnd() throws {
        func known(_ signed: Timestamp) -> LineageRecord {
            record(monthly, renewal: renewal(signed: signed, retrying: true))
        }
        let check = try next(known(day(30, hour: 1)), at: day(30, hour: 1))
        #expect(check.row == .retry)
        #expect(check.urgency == .ending)
        #expect((19.2...24).contains(hours(check, from: day(30, hour: 1))))
        let late = try next(known(day(70)), at: day(70))
        #expect((96...120).contains(hours(late, from: day(70))))
        // Apple gives up after 60 days.
        let end = try next(known(day(89, hour: 12)), at: day(89, hour: 12))
        #expect(end.row == .ended)
        #expect(end.at > day(90) && end.at <= day(90) + .seconds(5))
    }

    @Test func whatIsOverFadesOut() throws {
        var known = record(monthly, renewal: renewal(signed: day(30), intent: 1))
        var (instant, checks) = (day(30), 0)
        var last = Duration.zero
        while let check = Cadence.next(for: known, map: map, at: instant) {
            #expect(check.row == .expired)
            #expect(check.at - instant >= last * 0.7)
            last = check.at - instant
            instant = check.at
            checks += 1
            known = record(monthly, renewal: renewal(signed: instant, intent: 1))
        }
        #expect((8...14).contains(checks))
        #expect(instant < day(90))
    }

    @Test func whatWasTakenBackIsWatchedForLonger() throws {
        let known = record(period("1", from: day(0), to: day(30), signed: day(10), revoked: day(10)))
        #expect(try next(known, at: day(10)).row == .revoked)
        #expect(Cadence.next(for: known, map: map, at: day(100)) != nil)
        #expect(Cadence.next(for: known, map: map, at: day(131)) == nil)
    }

    @Test func aLifetimePurchaseIsCheckedForEverButSeldom() throws {
        let bought = period("1", "forever", from: day(0), to: nil, type: "Non-Consumable")
        #expect((0.8...1).contains(hours(try next(record(bought), at: day(0)), from: day(0))))
        let old = period("1", "forever", from: day(0), to: nil, signed: day(500), type: "Non-Consumable")
        let check = try next(record(old), at: day(500))
        #expect(check.row == .oneTime)
        #expect((24 * 24...30 * 24).contains(Int(hours(check, from: day(500)))))
    }

    @Test func aConsumableIsLeftAloneAfterNinetyDays() {
        let bought = period("1", "pass", from: day(0), to: nil, type: "Consumable")
        #expect(Cadence.next(for: record(bought), map: map, at: day(1)) != nil)
        #expect(Cadence.next(for: record(bought), map: map, at: day(91)) == nil)
    }

    @Test func whatCannotBeAllIsCheckedAtOnce() throws {
        let upgraded = record(period("1", from: day(0), to: day(30), signed: day(3), upgraded: true))
        let check = try next(upgraded, at: day(3))
        #expect(check.row == .unverified)
        #expect(check.urgency == .access)
        #expect(check.at <= day(3) + .seconds(60))
        let silent = try next(record(monthly), at: day(31, hour: 5))
        #expect(silent.row == .unverified)
        let renewalOnly = try next(record(renewal: renewal(signed: day(1))), at: day(1))
        #expect(renewalOnly.row == .unverified)
    }

    @Test func whatHasNoTransactionIsNotAskedAboutEveryMinuteForEver() throws {
        let known = record(renewal: renewal(signed: day(1)))
        var (instant, checks) = (day(1), 0)
        while let check = Cadence.next(for: known, map: map, at: instant, asked: .answered(instant)), checks < 100 {
            instant = check.at
            checks += 1
        }
        #expect((60...90).contains(checks))
        #expect(instant < day(61))
    }

    @Test func aFailureIsTriedAgainSoonAndNotAtOnce() throws {
        let known = record(monthly, renewal: renewal(signed: day(10)))
        let routine = try next(known, at: day(13), asked: .failed(day(13)))
        #expect(routine.row == .running)
        #expect(hours(routine, from: day(13)) == 1)
        let hold = try next(record(monthly), at: day(30) + .seconds(10), asked: .failed(day(30) + .seconds(10)))
        #expect(hold.at == day(30) + .seconds(40))
        // The end itself is not put off by what failed before it.
        let end = try next(known, at: day(29, hour: 23) + .seconds(1800), asked: .failed(day(29, hour: 23)))
        #expect(end.at <= day(30) + .seconds(5))
    }

    @Test func theSamePlanInFiveMinutesHasTheSameChecksInProportion() throws {
        func known(_ signed: Duration, on: Bool = true) -> LineageRecord {
            record(
                period("1", from: day(0), to: day(0) + .seconds(300)),
                renewal: renewal(signed: day(0) + signed, on: on))
        }
        func pause(_ seconds: Int, on: Bool = true) throws -> (CadenceRow, Double) {
            let instant = day(0) + .seconds(seconds)
            let check = try next(known(.seconds(seconds), on: on), at: instant)
            return (check.row, (check.at - instant) / .seconds(1))
        }
        let (fresh, first) = try pause(1)
        #expect(fresh == .fresh)
        #expect((30...37.5).contains(first))
        #expect(try pause(100).0 == .running)
        #expect(try pause(250).0 == .ending)
        #expect(try pause(250).1 <= 18.75)
        let (look, wait) = try pause(100, on: false)
        #expect(look == .lastLook)
        #expect((170..<200).contains(wait))
    }

    @Test func lineagesThatBeganTogetherAreNotDueTogether() throws {
        var times: Set<Timestamp> = []
        for number in 0..<100 {
            let id = LineageID(app: lineage.app, environment: .production, originalTransactionID: "\(number)")
            var record = LineageRecord(lineage: id)
            record.fold(
                Observation(lineage: id, source: .notification, signedDate: day(0), transaction: monthly))
            times.insert(try next(record, at: day(0)).at)
        }
        #expect(times.count == 100)
        let spread = try #require(times.max()) - (try #require(times.min()))
        #expect(spread > .seconds(4 * 3600))
    }

    @Test func everyRowSaysWhenItCounts() {
        #expect(Set(CadenceRow.allCases.map(\.terms.when)).count == CadenceRow.allCases.count)
    }
}
