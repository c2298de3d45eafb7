import Testing
import Time

@testable import Entitlements

@Suite struct ReminderTests {
    private let monthly = period("1", from: day(0), to: day(30))
    private func off(_ signed: Timestamp = day(5)) -> LineageRecord {
        record(monthly, renewal: renewal(signed: signed, on: false))
    }

    private func next(_ record: LineageRecord, after instant: Timestamp) -> Reminder? {
        Reminder.next(for: record, map: map, after: instant)
    }

    @Test func anEndIsRemindedOfThreeTimes() {
        var (instant, found) = (day(5), [Reminder]())
        while let reminder = next(off(), after: instant) {
            found.append(reminder)
            instant = reminder.at
        }
        #expect(found.map(\.lead) == [.sevenDays, .threeDays, .oneDay])
        #expect(found.map(\.at) == [day(23), day(27), day(29)])
        #expect(Set(found.map(\.end)) == [day(30)])
    }

    @Test func whatAppleSignedAheadOfOurClockCounts() {
        #expect(next(off(day(5)), after: day(5) - .seconds(2))?.at == day(23))
        let on = record(monthly, renewal: renewal(signed: day(23) + .seconds(2)))
        #expect(Reminder.due(for: on, map: map, scheduled: day(23), at: day(23)) == nil)
    }

    @Test func whoeverCancelsLateGetsOnlyWhatLiesAhead() {
        #expect(next(off(day(25)), after: day(25))?.lead == .threeDays)
        #expect(next(off(day(29, hour: 12)), after: day(29, hour: 12)) == nil)
    }

    @Test func whatRenewsOrIsOverIsNotRemindedOf() {
        #expect(next(record(monthly), after: day(5)) == nil)
        #expect(next(record(monthly, renewal: renewal(signed: day(6))), after: day(6)) == nil)
        #expect(
            next(
                record(
                    period("1", from: day(0), to: day(30), revoked: day(10)),
                    renewal: renewal(signed: day(5), on: false)), after: day(11)) == nil)
        #expect(next(off(), after: day(30)) == nil)
        // It was resubscribed already: the next period begins where this one ends.
        let again = record(
            monthly, period("2", from: day(30), to: day(60), signed: day(20)),
            renewal: renewal(signed: day(5), on: false))
        #expect(next(again, after: day(21)) == nil)
    }

    @Test func aSeasonPassEndsByTheMapAndIsRemindedOf() {
        let pass = record(period("1", "season", from: day(0), to: nil, type: "Non-Renewing Subscription"))
        #expect(next(pass, after: day(1))?.at == day(83))
        let lifetime = record(period("1", "forever", from: day(0), to: nil, type: "Non-Consumable"))
        #expect(next(lifetime, after: day(1)) == nil)
    }

    @Test func aLeadOfMoreThanHalfThePeriodIsLeftOut() {
        let week = record(period("1", from: day(0), to: day(7)), renewal: renewal(signed: day(0, hour: 1), on: false))
        #expect(next(week, after: day(0, hour: 2))?.lead == .threeDays)
        let trial = record(period("1", from: day(0), to: day(3)), renewal: renewal(signed: day(0, hour: 1), on: false))
        #expect(next(trial, after: day(0, hour: 2))?.lead == .oneDay)
    }

    @Test func aMonthOfFiveMinutesHasTheSameRemindersInProportion() {
        let end = day(0) + .seconds(300)
        let sandbox = record(period("1", from: day(0), to: end), renewal: renewal(signed: day(0), on: false))
        #expect(next(sandbox, after: day(0))?.at == end - .seconds(70))
        #expect(next(sandbox, after: end - .seconds(70))?.at == end - .seconds(30))
        #expect(next(sandbox, after: end - .seconds(30))?.at == end - .seconds(10))
    }

    @Test func whatWasScheduledIsSaidOnlyIfItStillHolds() {
        func due(_ record: LineageRecord, _ scheduled: Timestamp, at now: Timestamp) -> Reminder.Lead? {
            Reminder.due(for: record, map: map, scheduled: scheduled, at: now)?.lead
        }
        #expect(due(off(), day(23), at: day(23)) == .sevenDays)
        #expect(due(off(), day(23), at: day(26)) == .sevenDays)
        // We were down until the next had come.
        #expect(due(off(), day(23), at: day(27)) == .threeDays)
        #expect(due(off(), day(29), at: day(29, hour: 23)) == .oneDay)
        #expect(due(off(), day(29), at: day(30)) == nil)
        // It was scheduled for another end.
        #expect(due(off(), day(22), at: day(23)) == nil)
        #expect(due(record(monthly, renewal: renewal(signed: day(22))), day(23), at: day(23)) == nil)
        let refunded = record(
            period("1", from: day(0), to: day(30), signed: day(22), revoked: day(22)),
            renewal: renewal(signed: day(5), on: false))
        #expect(due(refunded, day(23), at: day(23)) == nil)
        // It comes before its time.
        #expect(due(off(), day(27), at: day(24)) == nil)
    }
}
