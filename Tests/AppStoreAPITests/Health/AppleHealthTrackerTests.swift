import AppStore
import TestSupport
import Testing

/// What calls make of Apple's health; no clock, no network.
struct AppleHealthTrackerTests {
    private let start = ContinuousClock.now

    /// A call a second, each as long as half a second, one after the other.
    private func states(
        of calls: String, settings: AppleHealthSettings = AppleHealthTrackerTests.settings()
    ) -> [AppleHealth] {
        var tracker = AppleHealthTracker(settings: settings)
        return calls.enumerated().map { second, call in
            let sent = start + .seconds(second)
            _ = tracker.note(call == "." ? .answered : .failed(.server), sent: sent, ended: sent + .milliseconds(500))
            return tracker.health
        }
    }

    private static func settings(calm: Duration = .zero) -> AppleHealthSettings {
        var settings = AppleHealthSettings()
        settings.calm = calm
        return settings
    }

    @Test func nobodyHasAskedBeforeTheFirstCall() { #expect(AppleHealthTracker().health == .notAsked) }

    @Test func oneFailureDegradesAndThreeInARowMakeItUnreachable() {
        #expect(states(of: ".xxx") == [.fine, .degraded, .degraded, .unreachable])
        #expect(states(of: "xxxx") == [.degraded, .degraded, .unreachable, .unreachable])
    }

    @Test func failuresThatAreNotInARowLeaveItDegraded() {
        check(states(of: ".xx.xx.xx.x").dropFirst().allSatisfy { $0 == .degraded })
    }

    @Test func itTakesSeveralGoodCallsInARowToBeFineAgain() {
        #expect(states(of: "xxx...") == [.degraded, .degraded, .unreachable, .unreachable, .unreachable, .fine])
        #expect(states(of: "x...") == [.degraded, .degraded, .degraded, .fine])
        #expect(states(of: "x..x..").last == .degraded)
        #expect(states(of: "xxx..x..").last == .unreachable)
    }

    @Test func goodCallsDoNotCountUntilTheLastFailureIsPastForLongEnough() {
        // The failure ends at 0.5 s, the calls at 1.5, 2.5 … s.
        let states = states(of: "x.........", settings: Self.settings(calm: .seconds(7)))
        #expect(states == Array(repeating: .degraded, count: 7) + [.fine, .fine, .fine])
    }

    @Test func callsThatFailSideBySideCountOnce() {
        var tracker = AppleHealthTracker()
        for call in 0..<32 {
            let sent = start + .milliseconds(call)
            _ = tracker.note(.failed(.connectionLost), sent: sent, ended: start + .milliseconds(100 + call))
        }
        #expect(tracker.health == .degraded)
        #expect(tracker.failuresInRow == 1)
        for second in 1...2 {
            _ = tracker.note(
                .failed(.timedOut), sent: start + .seconds(second), ended: start + .seconds(second) + .milliseconds(5))
        }
        #expect(tracker.health == .unreachable)
    }

    @Test func callsThatAreAnsweredSideBySideCountOnce() {
        var tracker = AppleHealthTracker(settings: Self.settings())
        _ = tracker.note(.failed(.server), sent: start, ended: start + .seconds(1))
        for call in 0..<32 {
            _ = tracker.note(
                .answered, sent: start + .seconds(2), ended: start + .seconds(3) + .milliseconds(call))
        }
        #expect(tracker.health == .degraded)
        #expect(tracker.goodInRow == 1)
    }

    @Test func aChangeSaysWhenTheOutageBeganAndWhenAppleLastAnswered() throws {
        var tracker = AppleHealthTracker(settings: Self.settings())
        func note(_ evidence: AppleHealthTracker.Evidence, at second: Int) -> AppleHealthTracker.Step? {
            tracker.note(evidence, sent: start + .seconds(second), ended: start + .seconds(second + 1))
        }
        #expect(note(.answered, at: 0) == nil)
        let worse = try #require(note(.failed(.timedOut), at: 10))
        #expect(worse.from == .fine)
        #expect(worse.to == .degraded)
        #expect(worse.outageBegan == start + .seconds(10))
        #expect(worse.lastGood == start + .seconds(1))
        _ = note(.failed(.timedOut), at: 20)
        let worst = try #require(note(.failed(.timedOut), at: 30))
        #expect(worst.to == .unreachable)
        #expect(worst.outageBegan == start + .seconds(10))
        _ = note(.answered, at: 40)
        _ = note(.answered, at: 50)
        let back = try #require(note(.answered, at: 60))
        #expect(back.from == .unreachable)
        #expect(back.to == .fine)
        #expect(back.outageBegan == start + .seconds(10))
        #expect(back.lastGood == start + .seconds(1))
        // The next outage is another one.
        let next = try #require(note(.failed(.server), at: 70))
        #expect(next.outageBegan == start + .seconds(70))
        #expect(next.lastGood == start + .seconds(61))
    }

    @Test func whatSaysNothingChangesNothing() {
        var tracker = AppleHealthTracker()
        #expect(tracker.note(.nothing, sent: start, ended: start + .seconds(1)) == nil)
        #expect(tracker.health == .notAsked)
        #expect(tracker.heardAt == nil)
    }

    // MARK: What counts as Apple's failure

    private func evidence(
        _ kind: ServerAPIFailure.Kind?, after duration: Duration = .milliseconds(300), isSent: Bool = true
    ) -> AppleHealthTracker.Evidence {
        AppleHealthTracker.Evidence(
            ServerAPIOutcome(
                .statuses, failure: kind.map { ServerAPIFailure($0, .statuses, "") }, sentAt: isSent ? start : nil,
                endedAt: start + duration), slowAfter: .seconds(5))
    }

    @Test(arguments: ServerAPIFailure.Kind.allCases)
    func onlyWhatIsApplesFailureCounts(_ kind: ServerAPIFailure.Kind) {
        let expected: AppleHealthTracker.Evidence =
            switch kind {
            case .unauthorized, .rateLimited, .refused: .answered
            case .server: .failed(.server)
            case .timedOut: .failed(.timedOut)
            case .unreachable: .failed(.unreachable)
            case .connectionLost: .failed(.connectionLost)
            case .tls: .failed(.tls)
            case .unreadable: .failed(.unreadable)
            case .invalidRequest, .key, .budget, .cancelled: .nothing
            }
        #expect(evidence(kind) == expected)
        #expect(evidence(kind, isSent: false) == .nothing)
    }

    @Test func anAnswerThatTookOverFiveSecondsIsAFailure() {
        #expect(evidence(nil, after: .seconds(5)) == .answered)
        #expect(evidence(nil, after: .milliseconds(5001)) == .failed(.slow))
        #expect(evidence(.refused, after: .seconds(6)) == .failed(.slow))
        // Whoever gave up earlier learned nothing.
        #expect(evidence(.cancelled, after: .seconds(3)) == .nothing)
        #expect(evidence(.cancelled, after: .seconds(6)) == .failed(.timedOut))
    }
}
