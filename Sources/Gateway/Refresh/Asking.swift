internal import AppStore
internal import CacheTier
internal import Entitlements
internal import Synchronization
internal import Time

/// Apple being asked about one customer, for all who want to know at once, and what it has said so far.
final class Asking: Sendable {
    let questions: [StatusQuestion]
    let leftOut: Int
    let askedAt: Timestamp

    private struct State {
        var news: [Observation] = []
        var failures: Set<RefreshNote.Reason> = []
        var ended: ContinuousClock.Instant?
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())

    init(_ questions: RefreshQuestions, at instant: Timestamp) {
        self.questions = questions.asked
        leftOut = questions.leftOut
        askedAt = instant
    }

    /// Whether it answers whoever asks now.
    func isOfUse(for time: Duration) -> Bool {
        state.withLock { state in state.ended.map { .now - $0 < time } ?? true }
    }

    var isUnderWay: Bool { state.withLock { $0.ended == nil } }

    func begin(_ work: @escaping @Sendable () async -> Void) {
        state.withLock { state in state.task = Task(name: "refresh") { await work() } }
    }

    /// Returns once Apple has answered all, or failed to.
    func end() async { await state.withLock { $0.task }?.value }

    // MARK: What comes in

    /// Apple's answer, which is durable by now.
    func took(_ answer: StatusAnswer) {
        state.withLock { state in
            state.news += answer.observations
            if !answer.isAboutTheLineage { state.failures.insert(.silent) }
        }
    }

    func failed(_ reason: RefreshNote.Reason) { state.withLock { _ = $0.failures.insert(reason) } }

    func ended() { state.withLock { $0.ended = .now } }

    // MARK: What came of it

    /// So far.
    var news: [Observation] { state.withLock { $0.news } }

    /// `isRepeat`: for one who comes when it is over.
    func note(isRepeat: Bool) -> RefreshNote {
        let (news, failures, isOver) = state.withLock { ($0.news, $0.failures, $0.ended != nil) }
        let told = Set(news.map(\.lineage))
        // One answer tells of every subscription of an Apple account, so of one whose own call failed, too.
        let answered = questions.count { told.contains($0.lineage) }
        var note = RefreshNote(.done, askedAt: askedAt, asked: questions.count, answered: answered)
        if answered == questions.count, leftOut == 0 {
            note.reason = isRepeat ? .recent : nil
            return note
        }
        note.result = answered == 0 ? .failed : .partly
        var reasons = failures
        if !isOver { reasons.insert(.timeout) }
        if leftOut > 0 { reasons.insert(.tooMany) }
        note.reason = RefreshNote.Reason.allCases.first { reasons.contains($0) }
        return note
    }
}
