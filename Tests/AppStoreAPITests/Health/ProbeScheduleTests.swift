import Testing

@testable import AppStore

/// When Apple is asked by ourselves; no clock, no dice.
struct ProbeScheduleTests {
    private let start = ContinuousClock.now

    /// Probes of a minute, 5 s while something is wrong.
    private func schedule() -> ProbeSchedule { ProbeSchedule(settings: AppleHealthSettings(), startedAt: start) }

    private func seconds(
        _ schedule: ProbeSchedule, _ health: AppleHealth, chance: Double = 0, after second: Int = 0
    ) -> Double {
        (schedule.due(health, chance: chance) - (start + .seconds(second))) / .seconds(1)
    }

    @Test func theFirstProbeComesSoonAfterTheStartAndNotOfAllProcessesAtOnce() {
        #expect(seconds(schedule(), .notAsked, chance: -1) == 0)
        #expect(seconds(schedule(), .notAsked, chance: 0) == 2.5)
        #expect(seconds(schedule(), .notAsked, chance: 1) == 5)
    }

    @Test func eachCallOfAnybodyPutsTheNextProbeOff() {
        var schedule = schedule()
        for second in [1, 30, 100] {
            _ = schedule.note(.answered, ended: start + .seconds(second))
            #expect(seconds(schedule, .fine, after: second) == 60)
        }
        #expect(seconds(schedule, .fine, chance: -1, after: 100) == 48)
        #expect(seconds(schedule, .fine, chance: 1, after: 100) == 72)
    }

    @Test func whileAppleIsNotFineProbesComeFasterAndThenBackOff() {
        var schedule = schedule()
        _ = schedule.note(.failed(.server), ended: start)
        #expect(seconds(schedule, .degraded) == 5)
        var pauses: [Double] = []
        for _ in 0..<9 {
            schedule.probing()
            _ = schedule.note(.failed(.server), ended: start)
            schedule.probed(at: start)
            pauses.append(seconds(schedule, .unreachable))
        }
        #expect(pauses == [5, 5, 5, 10, 20, 40, 60, 60, 60])
        // An answer makes them fast again, until it is fine.
        let isDueEarlier = schedule.note(.answered, ended: start)
        #expect(isDueEarlier)
        #expect(seconds(schedule, .unreachable) == 5)
        #expect(seconds(schedule, .fine) == 60)
    }

    @Test func aProbeThatCouldNotBeSentIsNotRepeatedAtOnce() {
        var schedule = schedule()
        schedule.probing()
        schedule.probed(at: start + .seconds(3))
        #expect(seconds(schedule, .notAsked, after: 3) == 5)
    }

    @Test func whoGaveUpWaitingHastensTheNextProbe() {
        var schedule = schedule()
        _ = schedule.note(.answered, ended: start)
        #expect(seconds(schedule, .fine) == 60)
        let isDueEarlier = schedule.note(.nothing, ended: start + .seconds(9))
        #expect(isDueEarlier)
        #expect(seconds(schedule, .fine) == 5)
        let again = schedule.note(.nothing, ended: start + .seconds(10))
        #expect(!again)
        _ = schedule.note(.answered, ended: start + .seconds(11))
        #expect(seconds(schedule, .fine, after: 11) == 60)
    }
}
