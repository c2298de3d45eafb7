package import AppStore
package import Broker
package import CacheTier
package import Entitlements
package import Runtime
package import Time

/// Asks Apple about one lineage and sends Apple's word through the line: whoever checks anything does it by this.
///
/// At most three tries, with growing and random waits in between. Each check leaves one line in the log: which lineage, why,
/// what Apple said, what follows from it, how long it took. What Apple signed is in the ledger, under the message id that the
/// line names. When Apple's word is not to be had nothing changes: the last valid state stays, and where the paid period is
/// over it counts as pending verification, as it did before.
package struct LineageCheck: Sendable {
    /// What Apple said about a lineage, ready for the intake.
    package struct Word: Sendable {
        package let message: BrokerMessage
        package let observations: [Observation]
        /// For the log.
        package let said: String

        package init(message: BrokerMessage, observations: [Observation], said: String) {
            self.message = message
            self.observations = observations
            self.said = said
        }
    }

    /// Why Apple's word is not to be had.
    package struct Silence: Error, Sendable {
        package let reason: String
        /// Whether asking again later makes sense.
        package let isPassing: Bool
        package let retryAfter: Timestamp?
        /// An answer that does not pass verification: it goes into quarantine by way of the intake.
        package let unusable: BrokerMessage?

        package init(reason: String, isPassing: Bool, retryAfter: Timestamp? = nil, unusable: BrokerMessage? = nil) {
            self.reason = reason
            self.isPassing = isPassing
            self.retryAfter = retryAfter
            self.unusable = unusable
        }
    }

    /// Asks Apple once.
    package typealias Ask = @Sendable (LineageRecord, CallPriority) async throws(Silence) -> Word

    package enum Verdict: String, Sendable, CaseIterable {
        /// Apple's word leaves no doubt.
        case settled
        /// Apple answered, and it is still open.
        case open
        /// Asking again would bring the same.
        case failed
        /// Apple did not answer, after all tries.
        case silent
    }

    /// What came of one check.
    package struct Report: Sendable {
        package let verdict: Verdict
        package let before: LineageEvaluation
        /// The record with Apple's word in it, as a consumer is about to store it.
        package let record: LineageRecord
        package let concluded: LineageEvaluation
        package let answer: Result<Word, Silence>
        package let took: Duration
    }

    private let rules: StoreRules
    private let ask: Ask
    private let publisher: any MessagePublisher
    private let names: BrokerNames
    private let clock: WallClock
    private let log: Log

    package init(
        rules: StoreRules, publisher: any MessagePublisher, names: BrokerNames, clock: WallClock = .system,
        log: Log = .discarding, ask: @escaping Ask
    ) {
        self.rules = rules
        self.ask = ask
        self.publisher = publisher
        self.names = names
        self.clock = clock
        self.log = log
    }

    /// Returns once Apple's answer is durable, or there is none. Throws when the broker does not take it.
    ///
    /// `why` goes into the line of the log.
    package func check(
        _ record: LineageRecord, _ priority: CallPriority, why: Log.Fields = [:]
    ) async throws(BrokerError) -> Report {
        let log = log.with(why).with(["lineage": .init(record.lineage.originalTransactionID)])
        let began = ContinuousClock.now
        let answer = await answer(about: record, priority)
        let took = ContinuousClock.now - began
        let before = meaning(of: record)
        switch answer {
        case .failure(let silence):
            log.warning(
                "Apple was asked about a lineage, in vain",
                [
                    "reason": .init(silence.reason), "before": .init(before.state.rawValue),
                    "pending": .init(before.isInDoubt ? "verification" : ""), "took": .init(milliseconds(took)),
                    "quarantined": .init(silence.unusable?.messageID ?? ""),
                ])
            if let message = silence.unusable { try await publish(message) }
            return Report(
                verdict: silence.isPassing ? .silent : .failed, before: before, record: record, concluded: before,
                answer: answer, took: took)
        case .success(let word):
            try await publish(word.message)
            var after = record
            for observation in word.observations where observation.lineage == record.lineage { after.fold(observation) }
            let concluded = meaning(of: after)
            log.info(
                "Apple was asked about a lineage",
                [
                    "said": .init(word.said), "message": .init(word.message.messageID ?? ""),
                    "before": .init(before.state.rawValue), "concluded": .init(concluded.state.rawValue),
                    "because": .init(concluded.reason.rawValue), "took": .init(milliseconds(took)),
                ])
            return Report(
                verdict: concluded.isInDoubt ? .open : .settled, before: before, record: after, concluded: concluded,
                answer: answer, took: took)
        }
    }

    private func answer(about record: LineageRecord, _ priority: CallPriority) async -> Result<Word, Silence> {
        var tries = Tries.standard
        while true {
            do throws(Silence) { return .success(try await ask(record, priority)) } catch {
                guard await tries.next(isPassing: error.isPassing, retryAfter: error.retryAfter, clock: clock) else {
                    return .failure(error)
                }
            }
        }
    }

    private func publish(_ message: BrokerMessage) async throws(BrokerError) {
        try await publisher.publish(message, to: names.intake, routingKey: "", mandatory: true)
    }

    /// What a record means now, by the rules that the check concludes by.
    package func meaning(of record: LineageRecord) -> LineageEvaluation {
        record.evaluated(at: clock.now(), map: rules.map, policy: rules.evaluation)
    }

    /// For the log.
    private func milliseconds(_ duration: Duration) -> Int64 { Int64(clamping: Int(duration / .milliseconds(1))) }
}

extension LineageEvaluation {
    /// Whether only Apple can say what it is.
    var isInDoubt: Bool { state == .hold || pendingVerification }
}
