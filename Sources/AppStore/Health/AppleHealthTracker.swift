/// Makes a state of what calls of the App Store Server API came to. It has no clock: time is an argument.
///
/// | it is | and then | so it is |
/// |---|---|---|
/// | fine, or was not asked | a call fails | degraded |
/// | degraded | `unreachableAfter` fail in a row | unreachable |
/// | degraded or unreachable | `goodCalls` are answered in a row, and the last failure is `calm` past | fine |
///
/// What fails side by side may have failed of one thing, such as a connection that they shared, and what is answered side
/// by side may have met one good moment. So a call counts towards a row only if it was sent after the one before in the
/// row had ended.
package struct AppleHealthTracker: Sendable {
    /// What a call says about Apple.
    package enum Evidence: Sendable, Hashable {
        /// Apple is there, whatever it answered.
        case answered
        case failed(AppleTrouble)
        /// Nothing: the call was not sent, or its caller did not wait for the end.
        case nothing

        /// What counts as Apple's failure, as a table. A 4xx is an answer, 429 and 401 included.
        package init(_ outcome: ServerAPIOutcome, slowAfter: Duration) {
            guard let sentAt = outcome.sentAt else {
                self = .nothing
                return
            }
            let isSlow = outcome.endedAt - sentAt > slowAfter
            self =
                switch outcome.failure?.kind {
                case nil, .unauthorized, .rateLimited, .refused: isSlow ? .failed(.slow) : .answered
                case .server: .failed(.server)
                case .timedOut: .failed(.timedOut)
                case .unreachable: .failed(.unreachable)
                case .connectionLost: .failed(.connectionLost)
                case .tls: .failed(.tls)
                case .unreadable: .failed(.unreadable)
                case .cancelled: isSlow ? .failed(.timedOut) : .nothing
                case .invalidRequest, .key, .budget: .nothing
                }
        }
    }

    /// One change of the state.
    package struct Step: Sendable, Hashable {
        package let from: AppleHealth
        package let to: AppleHealth
        /// When the first call was sent that failed.
        package let outageBegan: ContinuousClock.Instant?
        /// When the last call before that was answered; nil if there was none.
        package let lastGood: ContinuousClock.Instant?
    }

    package private(set) var health = AppleHealth.notAsked
    /// When a call last said anything.
    package private(set) var heardAt: ContinuousClock.Instant?
    /// When the last good call ended.
    package private(set) var goodAt: ContinuousClock.Instant?
    package private(set) var failedAt: ContinuousClock.Instant?
    package private(set) var failuresInRow = 0
    package private(set) var goodInRow = 0
    private let settings: AppleHealthSettings
    /// When the last call ended that counted towards the row.
    private var countedAt: ContinuousClock.Instant?
    private var outageBegan: ContinuousClock.Instant?
    private var goodBeforeOutage: ContinuousClock.Instant?

    package init(settings: AppleHealthSettings = AppleHealthSettings()) { self.settings = settings }

    /// Takes in a call that was sent and has ended; returns the change it makes, if any.
    package mutating func note(
        _ evidence: Evidence, sent: ContinuousClock.Instant, ended: ContinuousClock.Instant
    ) -> Step? {
        switch evidence {
        case .nothing: return nil
        case .answered: return answered(sent, ended)
        case .failed: return failed(sent, ended)
        }
    }

    private mutating func failed(_ sent: ContinuousClock.Instant, _ ended: ContinuousClock.Instant) -> Step? {
        let isFirst = health == .fine || health == .notAsked
        if isFirst {
            outageBegan = sent
            goodBeforeOutage = goodAt
        }
        if failuresInRow == 0 || isAfterTheLastCounted(sent) {
            failuresInRow += 1
            countedAt = ended
        }
        goodInRow = 0
        heardAt = ended
        failedAt = ended
        if failuresInRow >= settings.unreachableAfter { return become(.unreachable) }
        return isFirst ? become(.degraded) : nil
    }

    private mutating func answered(_ sent: ContinuousClock.Instant, _ ended: ContinuousClock.Instant) -> Step? {
        heardAt = ended
        goodAt = ended
        if goodInRow == 0 || isAfterTheLastCounted(sent) {
            // It need not be known beyond what is asked for, and must not run over in years of good calls.
            goodInRow = min(goodInRow + 1, settings.goodCalls)
            countedAt = ended
        }
        failuresInRow = 0
        switch health {
        case .fine: return nil
        case .notAsked:
            health = .fine
            return nil
        case .degraded, .unreachable:
            let isCalm = failedAt.map { ended - $0 >= settings.calm } ?? true
            guard goodInRow >= settings.goodCalls, isCalm else { return nil }
            return become(.fine)
        }
    }

    private func isAfterTheLastCounted(_ sent: ContinuousClock.Instant) -> Bool {
        countedAt.map { sent >= $0 } ?? true
    }

    private mutating func become(_ next: AppleHealth) -> Step? {
        guard next != health else { return nil }
        let step = Step(from: health, to: next, outageBegan: outageBegan, lastGood: goodBeforeOutage)
        health = next
        return step
    }
}
