package import Entitlements
package import Runtime
package import Time

/// Asks Apple about one lineage of one app in one environment, and says what came of it.
///
/// ```swift
/// let inquiry = StatusInquiry(client: client, verifier: verifier, identity: identity)
/// let answer = try await inquiry.ask(StatusQuestion(about: record), for: .reconcile, .sweep)
/// answer.message        // goes through the intake: `IntakeMessage(statuses:app:correlation:)`
/// answer.observations   // what it will be folded as
/// ```
///
/// Nothing is tried again here. Every call waits for its turn in the budget first.
package struct StatusInquiry: Sendable {
    private let client: ServerAPIClient
    private let verifier: StatusVerifier
    private let identity: AppIdentity
    private let clock: WallClock

    package init(
        client: ServerAPIClient, verifier: JWSVerifier, identity: AppIdentity, clock: WallClock = .system
    ) {
        self.client = client
        self.verifier = StatusVerifier(verifier)
        self.identity = identity
        self.clock = clock
    }

    package func ask(
        _ question: StatusQuestion, for purpose: StatusMessage.Purpose, _ priority: CallPriority
    ) async throws(StatusFailure) -> StatusAnswer {
        let askedAt = clock.now()
        let began = ContinuousClock.now
        let answer: ServerAPIAnswer
        do throws(ServerAPIFailure) {
            let transaction = ServerAPIRequest.Value("transactionId", question.transactionID)
            let endpoint: ServerAPIEndpoint = question.call == .statuses ? .statuses : .transaction
            answer = try await client.answer(to: try ServerAPIRequest(endpoint, [transaction]), priority)
        } catch { throw .call(error) }
        guard answer.body.count <= StatusMessage.maximumAnswerBytes else {
            throw .call(
                ServerAPIFailure(
                    .unreadable, question.call == .statuses ? .statuses : .transaction,
                    "the answer has \(answer.body.count) bytes, more than can be kept", status: answer.status,
                    isRetryable: false))
        }
        let message = StatusMessage(
            question, for: purpose, askedAt: askedAt, took: .now - began, answer: answer.body)
        do throws(VerificationFailure) {
            let verified = try verifier.verify(message, for: identity, now: clock.now())
            return StatusAnswer(message: message, verified: verified)
        } catch { throw .unusable(error, message) }
    }
}

/// What Apple said about a lineage: the message to be kept, and what it means.
package struct StatusAnswer: Sendable {
    package let message: StatusMessage
    package let verified: VerifiedStatuses

    package var observations: [Observation] { verified.observations }
    /// False when Apple answered, and said nothing about the lineage that it was asked about.
    package var isAboutTheLineage: Bool { verified.tells(of: message.question.lineage) }
}

/// Why asking brought nothing to fold.
package enum StatusFailure: Error, Sendable, CustomStringConvertible {
    case call(ServerAPIFailure)
    /// Apple answered, and something in the answer does not pass verification. The message goes through the intake all the
    /// same: it ends in quarantine, with its reason (invariant 2).
    case unusable(VerificationFailure, StatusMessage)

    /// Whether asking again later makes sense; else the answer would be the same.
    package var isPassing: Bool {
        switch self {
        case .call(let failure): failure.isRetryable
        case .unusable(let failure, _): failure.isRetryable
        }
    }

    /// Not before then; nil when nothing is said.
    package var retryAfter: Timestamp? {
        if case .call(let failure) = self { failure.retryAfter } else { nil }
    }

    /// Stable: `ServerAPIFailure.Kind` or `VerificationFailure.Code`, and Apple's own name for what it refused.
    package var code: String {
        switch self {
        case .call(let failure): failure.name ?? failure.kind.rawValue
        case .unusable(let failure, _): failure.code.rawValue
        }
    }

    package var description: String {
        switch self {
        case .call(let failure): failure.description
        case .unusable(let failure, _): "Apple's answer cannot be used: \(failure)"
        }
    }
}
