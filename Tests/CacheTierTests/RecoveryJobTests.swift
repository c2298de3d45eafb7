import Entitlements
import JSON
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite struct RecoveryJobTests {
    private static let noon = Timestamp(milliseconds: 1_764_000_000_000)

    private func job(
        _ phase: RecoveryJob.Phase, from: Timestamp, until: Timestamp, dark: Timestamp? = nil
    ) -> RecoveryJob {
        var job = RecoveryJob(
            name: "outage-\(from.milliseconds)", cause: .outage, phase: phase,
            history: BackfillProgress(from: from, until: until), at: until)
        job.darkAt = dark
        return job
    }

    // MARK: Windows

    @Test(arguments: [0, 1, 599_999, 600_000, 600_001, 86_400_000, 7 * 86_400_000 + 17, 180 * 86_400_000])
    func windowsCoverTheTimeWithoutAGap(_ milliseconds: Int) {
        let until = Self.noon + .milliseconds(milliseconds)
        var progress = BackfillProgress(from: Self.noon, until: until, lanes: 4)
        var windows: [BackfillProgress.Window] = []
        var inHand: Set<Int> = []
        while let next = progress.take(besides: inHand) {
            #expect(next.position.isEmpty)
            windows.append(next.window)
            inHand.insert(next.window.number)
        }
        #expect(windows.first?.from == Self.noon)
        #expect(windows.last?.until == until)
        #expect(windows.count == progress.windowCount)
        for (one, next) in zip(windows, windows.dropFirst()) { #expect(one.until == next.from) }
        for window in windows { #expect(window.until - window.from <= BackfillProgress.longestWindow) }
        #expect(!progress.isDone)
        for window in windows { progress.reached(nil, of: window) }
        #expect(progress.isDone)
        #expect(progress.fraction == 1)
    }

    @Test func whoGoesOnBeginsWithWhatWasLeftAndWhereItWasLeft() throws {
        var progress = BackfillProgress(from: Self.noon, until: Self.noon + .seconds(4 * 3600), lanes: 1)
        let taken = [progress.take(besides: []), progress.take(besides: [0]), progress.take(besides: [0, 1])]
        let first = try #require(taken[0])
        let second = try #require(taken[1])
        let third = try #require(taken[2])
        progress.reached("page 7", of: second.window)
        progress.reached(nil, of: first.window)
        progress.figures.sent = 12
        var job = RecoveryJob(name: "command-1", cause: .command, phase: .history, history: progress, at: Self.noon)
        job.taking = .nothing
        job.lineages.open = 3
        job.darkAt = Self.noon
        var read = try #require(RecoveryJob(job.bytes))
        #expect(read == job)
        let left = read.history.take(besides: [])
        let next = read.history.take(besides: [second.window.number])
        #expect(left?.position == "page 7")
        #expect(next?.window == third.window)
    }

    @Test(arguments: [
        "", "{}", #"{"name":"x"}"#, #"{"name":"x","cause":"outage","phase":"history","history":{}}"#, "[1",
    ])
    func whatIsNoJobIsNone(_ text: String) { #expect(RecoveryJob(Array(text.utf8)) == nil) }

    @Test func numbersFromElsewhereDoNotTrap() throws {
        let text = """
            {"name":"x","cause":"command","phase":"history","createdAt":"2025-11-24T00:00:00Z","history":{
            "from":"0001-01-01T00:00:00Z","until":"9999-01-01T00:00:00Z","windowMilliseconds":1,
            "begun":9223372036854775807,"open":[{"window":-1},{"window":9223372036854775807}],"figures":{"sentByApple":-4}}}
            """
        var job = try #require(RecoveryJob(Array(text.utf8)))
        #expect(job.history.figures.sent == 0)
        _ = job.history.take(besides: [])
        #expect(job.history.fraction <= 1)
    }

    // MARK: One recovery of what several processes notice

    @Test func anOutageWaitsUntilItIsOver() throws {
        let dark = OutageNotice(.dark, began: Self.noon, now: Self.noon + .seconds(10))
        let waiting = try #require(dark.job(among: [], margin: .seconds(600), lanes: 4))
        #expect(waiting.phase == .waiting)
        #expect(waiting.history.from == Self.noon - .seconds(600))
        let over = Self.noon + .seconds(7200)
        let light = try #require(
            OutageNotice(.light, began: Self.noon, now: over).job(among: [waiting], margin: .seconds(600), lanes: 4))
        #expect(light.name == waiting.name)
        #expect(light.phase == .history)
        #expect(light.history.from == waiting.history.from)
        #expect(light.history.until == over)
    }

    @Test func whoNoticesTheSameEndALittleLaterAddsNothing() {
        let over = Self.noon + .seconds(7200)
        let done = job(.done, from: Self.noon - .seconds(600), until: over)
        let late = OutageNotice(.light, began: Self.noon + .seconds(20), now: over + .seconds(60))
        #expect(late.job(among: [done], margin: .seconds(600), lanes: 4) == nil)
        let still = OutageNotice(.dark, began: Self.noon + .seconds(20), now: over + .seconds(30))
        #expect(still.job(among: [done], margin: .seconds(600), lanes: 4) == nil)
    }

    @Test func whatLastedLongerForAnotherProcessIsMadeUpForFromWhereTheFirstLeftOff() throws {
        let over = Self.noon + .seconds(7200)
        let done = job(.done, from: Self.noon - .seconds(600), until: over)
        let late = OutageNotice(.light, began: Self.noon + .seconds(20), now: over + .seconds(3600))
        let more = try #require(late.job(among: [done], margin: .seconds(600), lanes: 4))
        #expect(more.history.from == over - .seconds(600))
        #expect(more.history.until == over + .seconds(3600))
        #expect(more.name != done.name)
    }

    @Test func anotherOutageIsNotCoveredByAnEarlierRecovery() throws {
        let done = job(.done, from: Self.noon - .seconds(7200), until: Self.noon - .seconds(3600))
        let next = OutageNotice(.light, began: Self.noon, now: Self.noon + .seconds(60))
        let found = try #require(next.job(among: [done], margin: .seconds(600), lanes: 4))
        #expect(found.history.from == Self.noon - .seconds(600))
    }

    @Test func anEarlierBeginningNoticedByAnotherProcessCounts() throws {
        let waiting = job(.waiting, from: Self.noon, until: Self.noon, dark: Self.noon)
        let earlier = OutageNotice(.dark, began: Self.noon - .seconds(60), now: Self.noon + .seconds(5))
        let joined = try #require(earlier.job(among: [waiting], margin: .seconds(600), lanes: 4))
        #expect(joined.name == waiting.name)
        #expect(joined.history.from == Self.noon - .seconds(660))
        #expect(joined.darkAt == Self.noon + .seconds(5))
    }

    @Test func anOutageThatNobodyWatchesAnyMoreIsMadeUpFor() throws {
        let waiting = job(.waiting, from: Self.noon, until: Self.noon, dark: Self.noon + .seconds(30))
        #expect(waiting.orphaned(at: Self.noon + .seconds(60), lanes: 4) == nil)
        let begun = try #require(waiting.orphaned(at: Self.noon + .seconds(3600), lanes: 4))
        #expect(begun.phase == .history)
        #expect(begun.history.until == Self.noon + .seconds(3600))
        #expect(job(.done, from: Self.noon, until: Self.noon).orphaned(at: Self.noon + .seconds(3600), lanes: 4) == nil)
    }
}
