/// When Apple is asked by ourselves. It has no clock and no dice: both are arguments.
///
/// | Apple is | the next probe comes |
/// |---|---|
/// | not asked yet | within `probeAgain` of the start |
/// | fine | `probeEvery` after the last call of anybody |
/// | not fine, or somebody gave up waiting for it | `probeAgain` after the last call of anybody; after `unreachableAfter` probes in vain twice that, then four times, up to `probeEvery` |
///
/// Up to a fifth earlier or later, so that processes do not ask all at once.
struct ProbeSchedule: Sendable {
    private let settings: AppleHealthSettings
    private let startedAt: ContinuousClock.Instant
    /// When anybody's call, a probe's too, last ended in a way that says something.
    private var heardAt: ContinuousClock.Instant?
    private var probedAt: ContinuousClock.Instant?
    /// Since Apple last answered.
    private var probesInVain = 0
    /// Whether somebody has given up waiting since Apple was last heard.
    private var isDoubted = false

    init(settings: AppleHealthSettings, startedAt: ContinuousClock.Instant) {
        self.settings = settings
        self.startedAt = startedAt
    }

    /// Takes in a call that was sent; returns whether the next probe is due earlier for it.
    mutating func note(_ evidence: AppleHealthTracker.Evidence, ended: ContinuousClock.Instant) -> Bool {
        switch evidence {
        case .answered:
            let isBack = probesInVain > 0
            (heardAt, probesInVain, isDoubted) = (ended, 0, false)
            return isBack
        case .failed:
            (heardAt, isDoubted) = (ended, false)
            return false
        case .nothing:
            defer { isDoubted = true }
            return !isDoubted
        }
    }

    /// A probe is about to be made: in vain, unless an answer comes.
    mutating func probing() { probesInVain = min(probesInVain + 1, 64) }

    mutating func probed(at instant: ContinuousClock.Instant) { probedAt = instant }

    /// `chance` is from -1 to 1.
    func due(_ health: AppleHealth, chance: Double) -> ContinuousClock.Instant {
        guard let last = [heardAt, probedAt].compactMap(\.self).max() else {
            return startedAt + settings.probeAgain * ((chance + 1) / 2)
        }
        return last + pause(health) * (1 + chance / 5)
    }

    private func pause(_ health: AppleHealth) -> Duration {
        if health == .fine, !isDoubted { return settings.probeEvery }
        let doublings = max(0, probesInVain - settings.unreachableAfter)
        // Beyond that many the longest pause is reached, whatever the settings.
        guard doublings < 24 else { return settings.probeEvery }
        return min(settings.probeEvery, settings.probeAgain * (1 << doublings))
    }
}
