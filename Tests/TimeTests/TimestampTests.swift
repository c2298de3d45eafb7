import Testing
import Time

@Suite struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_796_004_878_123, "2026-11-30T02:14:38.123Z"), (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
    ])
    func anInstantHasOneText(_ milliseconds: Int64, _ text: String) {
        let instant = Timestamp(milliseconds: milliseconds)
        #expect(instant.rfc3339 == text)
        #expect(Timestamp(rfc3339: text) == instant)
    }

    @Test func everyDayOfFourCenturiesSurvivesTheWayThroughText() {
        for day in Int64(-73_000)...73_000 {
            let instant = Timestamp(milliseconds: day * 86_400_000 + 12_345)
            guard Timestamp(rfc3339: instant.rfc3339) == instant else {
                Issue.record("\(instant.rfc3339) is not day \(day)")
                return
            }
        }
    }

    @Test(arguments: [
        ("2026-11-30T03:14:38+01:00", "2026-11-30T02:14:38.000Z"),
        ("2026-11-30t02:14:38.5z", "2026-11-30T02:14:38.500Z"),
        ("2026-11-30T02:14:38.123456789Z", "2026-11-30T02:14:38.123Z"),
    ])
    func otherWritingsOfAnInstantAreUnderstood(_ text: String, _ canonical: String) {
        #expect(Timestamp(rfc3339: text)?.rfc3339 == canonical)
    }

    @Test(arguments: [
        "", "2026-11-30", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T02:14:38",
        "2026-11-30T02:14:38Zx", "2026-11-30T02:14:38.Z", "2026-11-30T02:14:38+1:00",
    ])
    func whatIsNoInstantIsRefused(_ text: String) { #expect(Timestamp(rfc3339: text) == nil) }

    @Test func arithmeticSaturatesInsteadOfTrapping() {
        let last = Timestamp(milliseconds: .max)
        #expect(last + .seconds(1) == last)
        #expect(Timestamp(milliseconds: .min) - .seconds(1) == Timestamp(milliseconds: .min))
        #expect(Timestamp(milliseconds: 5) + .seconds(Int64.max) == last)
        #expect(Timestamp(milliseconds: 1500) - Timestamp(milliseconds: 500) == .seconds(1))
        #expect(last.rfc3339 == "9999-12-31T23:59:59.999Z")
    }
}
