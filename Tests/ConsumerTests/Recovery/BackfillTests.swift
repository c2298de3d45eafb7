import AppStore
import Broker
import CacheTier
import Entitlements
import Simulator
import TestSupport
import Testing
import Time

@testable import Consumer

@Suite("Backfill of the notification history", .timeLimit(.minutes(6))) struct BackfillTests {
    private let keepNothing: Backfill.Keep = { _ in }

    @Test("Invariant 2: what never came is found, and sent through the line as Apple would have sent it")
    func whatNeverCameIsFound() async throws {
        try await BackfillStage.with { stage in
            try await stage.seen.begin(stage.app, .production)
            try await stage.apple.sell(45)
            await stage.apple.pass(.seconds(60))
            let publisher = SettlingPublisher(stage.seen)
            let done = try await stage.backfill(publisher).run(stage.job(), keep: keepNothing)
            let uuids = await stage.apple.uuids()
            #expect(Set(publisher.uuids) == Set(uuids))
            #expect(publisher.uuids.count == 45)
            #expect(done.history.isDone)
            let figures = done.history.figures
            #expect(figures.sent == 45)
            #expect(figures.new == 45)
            #expect(figures.undelivered == 45)
            #expect(figures.known == 0)
            #expect(figures.pages >= 3)
            for message in publisher.messages {
                #expect(message.headers[MessageHeader.history] == "command-1")
                #expect(message.headers[MessageHeader.app] == stage.app.rawValue)
                #expect(message.headers[MessageHeader.environment] == "production")
                #expect(message.headers[MessageHeader.kind] == nil)
                _ = try stage.apple.verifier.verify(
                    message.body, for: SimulatedApple.identity, now: stage.apple.clock.now)
            }

            // A second time there is nothing to be done.
            let again = SettlingPublisher()
            let figuresAgain = try await stage.backfill(again).run(stage.job("b"), keep: keepNothing).history.figures
            #expect(again.messages.isEmpty)
            #expect(figuresAgain.known == 45)
            #expect(figuresAgain.new == 0)
        }
    }

    @Test func whatWasSettledGoesThroughTheLineOnlyWhenAllIsWanted() async throws {
        try await BackfillStage.with { stage in
            try await stage.seen.begin(stage.app, .production)
            try await stage.apple.sell(6)
            await stage.apple.pass(.seconds(60))
            let uuids = await stage.apple.uuids()
            try await stage.settle(Array(uuids.prefix(4)))
            for (taking, count) in [(RecoveryJob.Taking.nothing, 0), (.missing, 2), (.all, 6)] {
                let publisher = SettlingPublisher()
                let done = try await stage.backfill(publisher).run(stage.job(taking: taking), keep: keepNothing)
                #expect(publisher.uuids.count == count, "\(taking)")
                #expect(done.history.figures.new == 2)
                #expect(done.history.figures.known == 4)
                if taking == .missing { #expect(Set(publisher.uuids) == Set(uuids.suffix(2))) }
                // It waits for what it sent; here a consumer comes at once.
                try await stage.settle(
                    taking == .missing ? [] : publisher.uuids.filter { uuids.prefix(4).contains($0) })
            }
        }
    }

    @Test func whatIsOlderThanTheMemoryIsSentAndNotCalledNew() async throws {
        try await BackfillStage.with { stage in
            try await stage.apple.sell(3)
            await stage.apple.pass(.seconds(60))
            let publisher = SettlingPublisher(stage.seen)
            let figures = try await stage.backfill(publisher).run(stage.job(), keep: keepNothing).history.figures
            #expect(figures.beyondMemory == 3)
            #expect(figures.new == 0)
            #expect(publisher.uuids.count == 3)
        }
    }

    @Test("Invariant 2: one that is interrupted anywhere goes on where it was, and misses nothing")
    func anInterruptedOneGoesOn() async throws {
        try await BackfillStage.with(lanes: 3) { stage in
            try await stage.seen.begin(stage.app, .production)
            for _ in 0..<4 {
                try await stage.apple.sell(25)
                await stage.apple.pass(.seconds(900))
            }
            let publisher = SettlingPublisher(stage.seen)
            let run = RecoveryRun(jobs: stage.jobs, backfill: stage.backfill(publisher), settling: nil)
            let job = stage.job(from: .seconds(3700))
            try await stage.jobs.add(job)
            var interruptions = 0
            var pagesBefore: UInt64 = 0
            while true {
                publisher.makeRoom(30)
                do throws(RecoveryFailure) {
                    guard case .done(let done) = try await run.run(job.name) else { continue }
                    #expect(done.phase == .done)
                    break
                } catch {
                    guard case .notTaken = error else { throw error }
                    interruptions += 1
                    // Whoever comes next finds how far it is.
                    let left = try #require(try await stage.jobs.job(job.name))
                    #expect(left.phase == .history)
                    #expect(left.history.figures.pages >= pagesBefore)
                    pagesBefore = left.history.figures.pages
                }
            }
            #expect(interruptions >= 3)
            let uuids = await stage.apple.uuids()
            #expect(uuids.count == 100)
            #expect(Set(publisher.uuids) == Set(uuids))
            let figures = try #require(try await stage.jobs.job(job.name)).history.figures
            // A page that was interrupted is read again; then some of it is known.
            #expect(figures.sent >= 100)
            #expect(figures.new + figures.known == figures.sent)
        }
    }

    @Test func aPlaceInTheListThatIsNoLongerGoodIsNoReasonToGiveUp() async throws {
        try await BackfillStage.with(lanes: 1) { stage in
            try await stage.seen.begin(stage.app, .production)
            try await stage.apple.sell(50)
            await stage.apple.pass(.seconds(60))
            let publisher = SettlingPublisher(stage.seen)
            let run = RecoveryRun(jobs: stage.jobs, backfill: stage.backfill(publisher), settling: nil)
            let job = stage.job(from: .seconds(600))
            try await stage.jobs.add(job)
            publisher.makeRoom(25)
            var failed = false
            do throws(RecoveryFailure) { _ = try await run.run(job.name) } catch { failed = true }
            #expect(failed)
            // The simulator's tokens are good for an hour.
            await stage.apple.pass(.seconds(7200))
            publisher.makeRoom(.max)
            _ = try await run.run(job.name)
            let uuids = await stage.apple.uuids()
            #expect(Set(publisher.uuids) == Set(uuids))
        }
    }

    @Test func appleBeingAwayInterruptsIt() async throws {
        try await BackfillStage.with(lanes: 1) { stage in
            try await stage.apple.sell(2)
            var behaviour = await stage.apple.simulator.apiBehaviour
            behaviour.failStatus = 500
            behaviour.failPercent = 100
            await stage.apple.simulator.setBehaviour(api: behaviour)
            let publisher = SettlingPublisher(stage.seen)
            var failure: RecoveryFailure?
            do throws(RecoveryFailure) {
                _ = try await stage.backfill(publisher).run(stage.job(), keep: keepNothing)
            } catch { failure = error }
            guard case .apple(let reason)? = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(reason.kind == .server)
        }
    }

    @Test func ofTheSandboxThirtyDaysAreAskedFor() async throws {
        try await BackfillStage.with(environment: .sandbox) { stage in
            try await stage.seen.begin(stage.app, .sandbox)
            try await stage.apple.sell(2)
            await stage.apple.pass(.seconds(40 * 86_400))
            await stage.apple.loseNotifications(true)
            let account = try await stage.apple.simulator.createAccount()
            try await stage.apple.simulator.perform(.buy("demo.premium.yearly"), for: account)
            await stage.apple.pass(.seconds(60))
            let publisher = SettlingPublisher(stage.seen)
            // Asking for more is an error of Apple's: StartDateTooFarInPast.
            let done = try await stage.backfill(publisher).run(
                stage.job(from: .seconds(90 * 86_400)), keep: keepNothing)
            #expect(done.history.isDone)
            let youngest = await stage.apple.simulator.deliveries().last?.notification.uuid
            #expect(publisher.uuids.contains(youngest ?? ""))
            let environments = Set(publisher.messages.compactMap { $0.headers[MessageHeader.environment] })
            #expect(environments == ["sandbox"])
        }
    }

    @Test("Invariant 6: what Apple did not sign is counted, and goes nowhere")
    func whatAppleDidNotSignGoesNowhere() async throws {
        try await BackfillStage.with { stage in
            try await SimulatedApple.with(clock: stage.apple.clock) { other in
                try await other.sell(3)
                await other.pass(.seconds(60))
                let publisher = SettlingPublisher(stage.seen)
                // The other store's client, our roots.
                let figures = try await stage.backfill(publisher, client: other.client).run(
                    stage.job(), keep: keepNothing
                ).history.figures
                #expect(figures.unusable == 3)
                #expect(publisher.messages.isEmpty)
            }
        }
    }
}
