import TestSupport
import Testing
import Time

@testable import Simulator

@Suite struct OutboxTests {
    private static let hour = Duration.seconds(3600)

    private func notification(_ uuid: String) -> StoreNotification {
        StoreNotification(
            uuid: uuid, type: "TEST", subtype: nil, signedDate: Demo.start, transaction: nil, renewal: nil,
            consumptionRequestReason: nil)
    }

    /// The times at which a notification is tried that is answered by `results` in turn.
    private func tries(_ settings: StoreSettings, _ results: [SendAttempt.Result]) throws -> [Duration] {
        var outbox = Outbox(settings: settings)
        outbox.add(notification("a"), at: Demo.start)
        var times: [Duration] = []
        for result in results {
            guard let due = outbox.nextDue else { break }
            #expect(outbox.take(by: due - .milliseconds(1)) == nil)
            let taken = outbox.take(by: due)
            let sending = try #require(taken)
            #expect(outbox.nextDue == nil)
            times.append(due - Demo.start)
            outbox.finish(sending, result, at: due)
        }
        return times
    }

    private let failures = [SendAttempt.Result](repeating: .unsuccessfulStatus, count: 9)

    @Test func productionTriesSixTimesOnApplesSchedule() throws {
        let times = try tries(StoreSettings(), failures)
        check(times == [0, 1, 13, 37, 85, 157].map { Self.hour * $0 })
    }

    @Test func theScheduleIsDividedByTheSpeed() throws {
        let times = try tries(StoreSettings(speed: 3600), failures)
        check(times == [0, 1, 13, 37, 85, 157].map { .seconds($0) })
    }

    @Test func sandboxTriesOnce() throws {
        #expect(try tries(StoreSettings(environment: .sandbox), failures).count == 1)
    }

    @Test func whatIsTakenIsNotTriedAgain() throws {
        #expect(try tries(StoreSettings(), [.timedOut, .socketIssue, .success, .success]).count == 3)
    }

    @Test func everyTryIsRecorded() throws {
        var outbox = Outbox(settings: StoreSettings())
        outbox.add(notification("a"), at: Demo.start)
        let firstTaken = outbox.take(by: Demo.start)
        let first = try #require(firstTaken)
        outbox.finish(first, .timedOut, at: Demo.start + .seconds(5))
        let waiting = try #require(outbox.entry("a"))
        #expect(waiting.state == .waiting)
        #expect(waiting.nextTry == Demo.start + .seconds(5) + Self.hour)
        let secondTaken = outbox.take(by: Demo.start + .seconds(5) + Self.hour)
        let second = try #require(secondTaken)
        outbox.finish(second, .success, at: Demo.start + Self.hour * 2)
        let done = try #require(outbox.entry("a"))
        #expect(done.attempts.map(\.result) == [.timedOut, .success])
        #expect(done.state == .delivered)
    }

    @Test func aDuplicateIsSentTwiceAndRecordedOnce() throws {
        var outbox = Outbox(settings: StoreSettings())
        outbox.behaviour.duplicatePercent = 100
        outbox.add(notification("a"), at: Demo.start)
        let sendings = [outbox.take(by: Demo.start), outbox.take(by: Demo.start)].compactMap { $0 }
        #expect(sendings.map(\.isDuplicate) == [false, true])
        for sending in sendings { outbox.finish(sending, .success, at: Demo.start) }
        #expect(outbox.entry("a")?.attempts.count == 1)
        #expect(outbox.take(by: Demo.start + Self.hour * 1000) == nil)
    }

    @Test func whatIsLostIsNeverSentAndStaysInTheHistory() {
        var outbox = Outbox(settings: StoreSettings())
        outbox.behaviour.losePercent = 100
        outbox.add(notification("a"), at: Demo.start)
        #expect(outbox.take(by: Demo.start + Self.hour * 1000) == nil)
        #expect(outbox.entry("a")?.state == .lost)
        #expect(Array(outbox.entries(after: 0)).count == 1)
    }

    /// What one subscription is notified of: that it was bought, and that it will not renew.
    private func subscription() throws -> [StoreNotification] {
        var store = Demo.store()
        let (token, _) = try store.createAccount(token: nil, at: Demo.start)
        let bought = try store.buy("premium.monthly", by: token, at: Demo.start).compactMap(\.notification)
        let id = try #require(bought.first?.transaction?.originalID)
        return bought + (try store.setRenewal(false, of: id, at: Demo.start)).compactMap(\.notification)
    }

    @Test func whatIsLateComesWithinItsHoursAndTheHistoryKnowsItBefore() throws {
        var outbox = Outbox(settings: StoreSettings(speed: 3600))
        outbox.behaviour.latePercent = 100
        outbox.behaviour.lateHours = 48
        for number in 0..<20 { outbox.add(notification("\(number)"), at: Demo.start) }
        #expect(outbox.take(by: Demo.start + .seconds(11)) == nil)
        #expect(outbox.entry("3")?.attempts.map(\.result) == [.noResponse])
        #expect(outbox.entry("3")?.state == .waiting)
        var sent: [Outbox.Sending] = []
        while let sending = outbox.take(by: Demo.start + .seconds(48)) { sent.append(sending) }
        #expect(sent.count == 20)
        for sending in sent { outbox.finish(sending, .success, at: Demo.start + .seconds(48)) }
        #expect(outbox.entry("3")?.attempts.map(\.result) == [.noResponse, .success])
        #expect(outbox.count(of: .delivered) == 20)
    }

    @Test(arguments: [true, false])
    func theHistoryMayNotKnowWhatIsLostOrLateButItKnowsPurchases(_ areLost: Bool) throws {
        var outbox = Outbox(settings: StoreSettings())
        if areLost { outbox.behaviour.losePercent = 100 } else { outbox.behaviour.latePercent = 100 }
        outbox.behaviour.unlistedPercent = 100
        let notifications = try subscription()
        #expect(notifications.map(\.type) == ["SUBSCRIBED", "DID_CHANGE_RENEWAL_STATUS"])
        let fates = notifications.map { outbox.add($0, at: Demo.start) }
        #expect(fates == (areLost ? [.lost, .lostUnlisted] : [.late, .lateUnlisted]))
        let attempts = notifications.map { outbox.entry($0.uuid)?.attempts.count }
        #expect(attempts == [1, 0])
    }

    @Test func percentagesAreKeptRoughly() {
        var outbox = Outbox(settings: StoreSettings(seed: 3))
        outbox.behaviour.losePercent = 30
        for number in 0..<1000 { outbox.add(notification("\(number)"), at: Demo.start) }
        #expect((250...350).contains(outbox.count(of: .lost)))
    }

    @Test func reorderingLetsThemOvertakeEachOtherWithinTheWindow() {
        var outbox = Outbox(settings: StoreSettings(seed: 3))
        outbox.behaviour.reorderMilliseconds = 100
        let names = (0..<50).map { "\($0)" }
        for name in names { outbox.add(notification(name), at: Demo.start) }
        var sent: [String] = []
        while let sending = outbox.take(by: Demo.start + .milliseconds(100)) { sent.append(sending.notification.uuid) }
        #expect(sent != names)
        #expect(Set(sent) == Set(names))
    }

    @Test func slownessDelaysAndDarknessHoldsBack() throws {
        var outbox = Outbox(settings: StoreSettings())
        outbox.behaviour.slowMilliseconds = 500
        outbox.add(notification("a"), at: Demo.start)
        #expect(outbox.nextDue == Demo.start + .milliseconds(500))
        outbox.behaviour.isDark = true
        #expect(outbox.nextDue == nil)
        #expect(outbox.take(by: Demo.start + Self.hour) == nil)
        outbox.behaviour.isDark = false
        #expect(outbox.take(by: Demo.start + Self.hour) != nil)
    }

    @Test func theOldestAreForgottenBeyondTheCapacity() {
        var outbox = Outbox(settings: StoreSettings(), capacity: 3)
        for name in ["a", "b", "c", "d", "e"] { outbox.add(notification(name), at: Demo.start) }
        #expect(outbox.entries(after: 0).map(\.notification.uuid) == ["c", "d", "e"])
        #expect(outbox.entries(after: 4).map(\.notification.uuid) == ["e"])
        #expect(Array(outbox.entries(after: .max)).isEmpty)
        var sent: [String] = []
        while let sending = outbox.take(by: Demo.start) { sent.append(sending.notification.uuid) }
        #expect(sent == ["c", "d", "e"])
    }

    @Test func theEventLogKeepsTheLastAndCountsAll() {
        var log = EventLog(capacity: 10)
        for _ in 0..<35 { _ = log.add(StoreEvent(time: Demo.start, account: nil, name: "x"), truth: []) }
        #expect(log.events(after: 0, limit: 100).map(\.sequence) == Array(26...35))
        #expect(log.events(after: 33, limit: 100).map(\.sequence) == [34, 35])
        #expect(log.events(after: 28, limit: 2).map(\.sequence) == [29, 30])
        #expect(log.events(after: 99, limit: 2).isEmpty)
    }

    @Test func theRateIsCountedBySecond() {
        var rate = RateWindow()
        let now = Timestamp(milliseconds: 10_500)
        #expect(rate.admit(2, at: now) == nil)
        #expect(rate.admit(2, at: now) == nil)
        #expect(rate.admit(2, at: now) == Timestamp(milliseconds: 11_000))
        #expect(rate.admit(2, at: Timestamp(milliseconds: 11_000)) == nil)
        #expect(rate.admit(0, at: Timestamp(milliseconds: 11_000)) == nil)
    }
}
