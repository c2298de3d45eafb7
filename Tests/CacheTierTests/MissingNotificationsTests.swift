import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite struct MissingNotificationsTests {
    private static let noon = Timestamp(milliseconds: 1_764_000_000_000)

    @Test("Invariant 10: so many are known by name, the others by number")
    func theNamesAreBounded() throws {
        var missing = MissingNotifications()
        for number in 0..<(MissingNotifications.bound + 30) {
            missing.add("uuid-\(number)", .init(signedDate: Self.noon, sentAt: Self.noon))
        }
        // Known already.
        missing.add("uuid-1", .init(signedDate: Self.noon, sentAt: Self.noon + .seconds(5)))
        #expect(missing.named.count == MissingNotifications.bound)
        #expect(missing.count == UInt64(MissingNotifications.bound) + 30)
        var read = try #require(MissingNotifications(missing.bytes))
        #expect(read == missing)
        read.forgetUnnamed()
        read.remove("uuid-1")
        #expect(read.count == UInt64(MissingNotifications.bound) - 1)
    }

    @Test func whatWasSentAnHourAgoIsSentAgain() {
        var missing = MissingNotifications()
        missing.add("a", .init(signedDate: Self.noon - .seconds(60), sentAt: Self.noon))
        missing.add("b", .init(signedDate: Self.noon - .seconds(90), sentAt: Self.noon + .seconds(1800)))
        let later = Self.noon + .seconds(3600)
        #expect(missing.isOnItsWay("a", at: later - .seconds(1)))
        #expect(!missing.isOnItsWay("a", at: later))
        #expect(!missing.isOnItsWay("c", at: Self.noon))
        #expect(missing.overdue(at: later - .seconds(1)) == nil)
        #expect(missing.overdue(at: later) == Self.noon - .seconds(60))
    }

    @Test func aCheckIsReadAsItWasWritten() throws {
        var check = BackfillCheck(
            checkedAt: Self.noon, from: Self.noon - .seconds(900), until: Self.noon - .seconds(60),
            since: Self.noon - .seconds(86_400))
        (check.sent, check.found, check.missing, check.unusable) = (4, 3, 2, 1)
        check.gaps = [.refused, .gatewaysSilent]
        #expect(BackfillCheck(check.bytes) == check)
        #expect(check.notWithUs == 3)
        #expect(BackfillCheck(Array("{}".utf8)) == nil)
    }

    @Test(arguments: ["", "gap:refused", "1", "a b", "1 2 3"])
    func whatIsNoGapIsNone(_ value: String) { #expect(BackfillGap(field: "gap:refused", value: value) == nil) }
}
