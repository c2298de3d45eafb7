import TestSupport
import Testing
import Time

@testable import CacheTier

/// When the absence of notifications is unusual: pure, in hours since 1970.
@Suite struct ArrivalSilenceTests {
    /// The arrivals of `weeks` weeks that end at hour 10,080 (60 weeks after 1970), with `minutes` of them in each hour of
    /// the week; the last one at `last` hours.
    private func history(
        weeks: Int, last: Double = 10_080, _ minutes: (_ hourOfWeek: Int64) -> Int
    ) -> ArrivalHours {
        let first = 10_080 - Int64(weeks) * 168
        var hours: [Int64: Int] = [:]
        for hour in first..<Int64(last.rounded(.up)) { hours[hour] = minutes(hour % 168) }
        return ArrivalHours(first: instant(Double(first)), last: instant(last), minutes: hours)
    }

    private func instant(_ hours: Double) -> Timestamp { Timestamp(milliseconds: Int64(hours * 3_600_000)) }

    private func silence(_ hours: ArrivalHours, for length: Double) -> ArrivalSilence {
        ArrivalSilence(hours, at: hours.last + .milliseconds(Int64(length * 3_600_000)))
    }

    @Test func aBusyAppIsSilentAfterMinutesAndAQuietOneAfterHours() {
        let busy = history(weeks: 5) { _ in 60 }
        check(!silence(busy, for: 8 / 60).isUnusual)
        check(silence(busy, for: 11 / 60).isUnusual)
        let quiet = history(weeks: 5) { _ in 1 }
        check(!silence(quiet, for: 9).isUnusual)
        check(silence(quiet, for: 13).isUnusual)
    }

    @Test func aNightInWhichNothingEverComesIsNotUnusual() {
        // From 8 to 20 o'clock.
        let shop = history(weeks: 4) { (8..<20).contains($0 % 24) ? 10 : 0 }
        let evening = ArrivalHours(first: shop.first, last: instant(10_080 - 4), minutes: shop.minutes)
        #expect(silence(evening, for: 12).chance > 0.9)
        check(!silence(evening, for: 12.5).isUnusual)
        check(silence(evening, for: 14).isUnusual)
    }

    @Test func aWeekendIsHeldAgainstWeekends() {
        let office = history(weeks: 4) { $0 < 120 ? 20 : 0 }
        let friday = ArrivalHours(first: office.first, last: instant(10_080 - 48), minutes: office.minutes)
        check(!silence(friday, for: 48).isUnusual)
        check(silence(friday, for: 50).isUnusual)
    }

    @Test func ofAnAppThatHasJustBegunNothingIsSaid() {
        let new = ArrivalHours(first: instant(10_080), last: instant(10_081), minutes: [10_080: 30, 10_081: 1])
        #expect(silence(new, for: 500).chance == 1)
        #expect(ArrivalSilence(nil, at: instant(10_080)).chance == 1)
        #expect(ArrivalSilence(nil, at: instant(10_080)).last == nil)
    }

    @Test func afterSomeDaysTheHoursOfTheDayTellAndOnlyCarefully() {
        let days = ArrivalHours(
            first: instant(10_080 - 73), last: instant(10_080),
            minutes: Dictionary(uniqueKeysWithValues: (Int64(10_080 - 73)..<10_080).map { ($0, 2) }))
        check(silence(days, for: 12).isUnusual)
        // Better known, the same silence is less likely.
        let weeks = history(weeks: 5) { _ in 2 }
        #expect(silence(weeks, for: 6).chance < silence(days, for: 6).chance)
    }

    @Test func aSilenceDoesNotBecomeUsualByLasting() {
        let app = history(weeks: 5) { _ in 1 }
        var before = 1.0
        for length in stride(from: 1.0, through: 24 * 60, by: 7) {
            let chance = silence(app, for: length).chance
            #expect(chance <= before)
            before = chance
        }
        check(silence(app, for: 24 * 365).isUnusual)
    }

    @Test func aClockThatWasSetBackOrRubbishInRedisMakesNoSilence() {
        let app = history(weeks: 5) { _ in 60 }
        #expect(ArrivalSilence(app, at: instant(10_000)).chance == 1)
        for extreme in [Int64.min, -1, 0, .max] {
            let rubbish = ArrivalHours(
                first: Timestamp(milliseconds: extreme), last: Timestamp(milliseconds: extreme),
                minutes: [.min: .max, .max: .min])
            check((0...1).contains(ArrivalSilence(rubbish, at: instant(10_080)).chance))
            check((0...1).contains(ArrivalSilence(app, at: Timestamp(milliseconds: extreme)).chance))
        }
    }
}
