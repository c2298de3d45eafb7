internal import AppStore
internal import CacheTier
internal import Entitlements
package import Runtime
internal import Synchronization
internal import Time

/// Asks Apple about a customer for a read that wants to know now, and gives up in time.
///
/// What Apple answers goes through the intake before anybody is told of it: it is durable, in the ledger, and applied by a
/// consumer like a notification (invariant 1). What it answers after the deadline goes there all the same. However many
/// refresh a customer at once, and within a few seconds after, Apple is asked once.
package final class Refresher: Sendable {
    /// What a refresh brought: what Apple said, and what the answer says of it.
    struct Refreshed: Sendable {
        var news: [Observation] = []
        let note: RefreshNote
    }

    private struct Askings {
        var all: [CustomerKey: Asking] = [:]
        var underWay = 0
        /// When there are so many, those that are of no more use are dropped.
        var limit = 64
    }

    private let source: RefreshSource
    private let durable: IntakeStore
    private let settings: RefreshSettings
    private let askings = Mutex(Askings())
    private let metrics: RefreshMetrics
    private let clock: WallClock
    private let log: Log

    package init(
        source: RefreshSource, durable: IntakeStore, settings: RefreshSettings = RefreshSettings(),
        clock: WallClock = .system, metrics: Metrics, log: Log
    ) {
        self.source = source
        self.durable = durable
        self.settings = settings
        self.clock = clock
        self.metrics = RefreshMetrics(metrics)
        self.log = log
    }

    /// Returns what Apple said within the timeout; never throws, never waits for longer.
    func refresh(
        _ key: CustomerKey, _ known: KnownCustomer, _ evaluation: CustomerEvaluation, correlation: String
    ) async -> Refreshed {
        let began = ContinuousClock.now
        let refreshed = await ask(key, known, evaluation, correlation)
        metrics.refreshed(key.app, refreshed.note, in: .now - began)
        return refreshed
    }

    private func ask(
        _ key: CustomerKey, _ known: KnownCustomer, _ evaluation: CustomerEvaluation, _ correlation: String
    ) async -> Refreshed {
        guard let inquiry = source.inquiry(key.app, key.environment) else {
            return Refreshed(note: RefreshNote(.notPossible, .noKey))
        }
        let questions = RefreshQuestions(about: known, evaluation: evaluation, limit: settings.lineages)
        guard !questions.asked.isEmpty else { return Refreshed(note: RefreshNote(.notPossible, .noPurchases)) }
        let (asking, isNew) = self.asking(about: key, questions) { asking in
            await self.askAll(asking, inquiry, correlation)
        }
        guard let asking else {
            let isUnreachable = source.health(key.app, key.environment) == .unreachable
            return Refreshed(note: RefreshNote(.failed, isUnreachable ? .appleUnreachable : .busy))
        }
        let isRepeat = !isNew && !asking.isUnderWay
        if !isRepeat { _ = await Patience.wait(settings.timeout) { await asking.end() } }
        return Refreshed(news: asking.news, note: asking.note(isRepeat: isRepeat))
    }

    /// The one that is under way or was a moment ago, else a new one; nil when Apple is not to be asked now.
    private func asking(
        about key: CustomerKey, _ questions: RefreshQuestions, _ work: @escaping @Sendable (Asking) async -> Void
    ) -> (Asking?, isNew: Bool) {
        askings.withLock { askings in
            if let known = askings.all[key], known.isOfUse(for: settings.again) { return (known, false) }
            guard source.health(key.app, key.environment) != .unreachable, askings.underWay < settings.atOnce else {
                return (nil, false)
            }
            if askings.all.count >= askings.limit {
                askings.all = askings.all.filter { $0.value.isOfUse(for: settings.again) }
                askings.limit = max(64, 2 * askings.all.count)
            }
            let asking = Asking(questions, at: clock.now())
            askings.all[key] = asking
            askings.underWay += 1
            asking.begin {
                await work(asking)
                asking.ended()
                self.askings.withLock { $0.underWay -= 1 }
            }
            return (asking, true)
        }
    }

    private func askAll(_ asking: Asking, _ inquiry: StatusInquiry, _ correlation: String) async {
        await withTaskGroup { group in
            for question in asking.questions {
                group.addTask { await self.askOne(question, asking, inquiry, correlation) }
            }
        }
    }

    private func askOne(
        _ question: StatusQuestion, _ asking: Asking, _ inquiry: StatusInquiry, _ correlation: String
    ) async {
        let log = log.with([
            "correlation": .init(correlation), "app": .init(question.lineage.app.rawValue),
            "environment": .init(question.lineage.environment.rawValue),
            "lineage": .init(question.lineage.originalTransactionID),
        ])
        do throws(StatusFailure) {
            let answer = try await inquiry.ask(question, for: .refresh, .support)
            guard await keep(answer.message, correlation) else { return asking.failed(.notKept) }
            asking.took(answer)
            log.info(
                "Apple was asked", ["milliseconds": .init(Int64((answer.message.took / .milliseconds(1)).rounded()))])
        } catch {
            log.warning("Apple was asked in vain", ["reason": .init(error.code), "detail": .init(error.description)])
            // For quarantine, where its reason is written beside it (invariant 2).
            if case .unusable(_, let message) = error, await !keep(message, correlation) {
                return asking.failed(.notKept)
            }
            asking.failed(RefreshNote.Reason(error))
        }
    }

    private func keep(_ message: StatusMessage, _ correlation: String) async -> Bool {
        await durable.store(IntakeMessage(statuses: message, correlation: correlation)) != nil
    }
}

extension RefreshNote.Reason {
    fileprivate init(_ failure: StatusFailure) {
        switch failure {
        case .unusable: self = .unusable
        case .call(let call):
            switch call.kind {
            case .budget, .rateLimited: self = .rateLimited
            case .unauthorized, .key: self = .keyRefused
            case .refused where !call.isRetryable, .invalidRequest: self = .refused
            case .refused, .server, .unreachable, .timedOut, .tls, .connectionLost, .unreadable, .cancelled:
                self = .appleFailed
            }
        }
    }
}
