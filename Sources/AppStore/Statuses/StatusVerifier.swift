package import Entitlements
internal import JSON
package import Time

/// Apple's answer about a lineage, every part of it verified; only `StatusVerifier` makes one.
package struct VerifiedStatuses: Sendable {
    /// Of source `status`; of every subscription in the answer, so not only of the lineage that was asked about.
    package let observations: [Observation]
    let signatures: [SignedPart]

    /// Whether Apple said anything about `lineage`.
    package func tells(of lineage: LineageID) -> Bool { observations.contains { $0.lineage == lineage } }
}

/// Verifies what Apple answered: all of it, or nothing counts.
package struct StatusVerifier: Sendable {
    private let verifier: SignedDataVerifier

    package init(_ verifier: JWSVerifier) { self.verifier = SignedDataVerifier(verifier) }

    /// Throws the first thing in the answer that is not Apple's, not this app's or not from this environment.
    package func verify(
        _ message: StatusMessage, for identity: AppIdentity, now: Timestamp
    ) throws(VerificationFailure) -> VerifiedStatuses {
        let value: JSONValue
        do { value = try JSONValue.parse(message.answer) } catch {
            throw VerificationFailure(.malformed, .payload, "Apple's answer is not JSON: \(error)")
        }
        guard let object = value.object else {
            throw VerificationFailure(.malformed, .payload, "Apple's answer is no JSON object")
        }
        let environment = message.question.lineage.environment
        if let mistake = identity.mistakes(inAnswer: value, from: environment).first {
            throw VerificationFailure(.disagreement, .payload, "Apple's answer: \(mistake)")
        }
        let answer = ServerAPIAnswer(status: 200, body: message.answer, object: object)
        var news: [SignedNews] = []
        switch message.question.call {
        case .statuses:
            let response = StatusResponse(answer)
            for item in response.data.flatMap(\.lastTransactions) {
                news.append(
                    try read(
                        item.signedTransactionInfo, item.signedRenewalInfo, item.status, message, identity,
                        answerFor: response.bundleID, now))
            }
        case .transaction:
            let response: TransactionInfoResponse
            do throws(MissingMember) { response = try TransactionInfoResponse(answer) } catch {
                throw VerificationFailure(.malformed, .payload, "Apple's answer has no \(error.name)")
            }
            news.append(
                try read(response.signedTransactionInfo, nil, nil, message, identity, answerFor: nil, now))
        }
        return VerifiedStatuses(observations: news.map(\.observation), signatures: news.flatMap(\.parts))
    }

    private func read(
        _ transaction: String?, _ renewal: String?, _ status: Int64?, _ message: StatusMessage,
        _ identity: AppIdentity, answerFor bundleID: String?, _ now: Timestamp
    ) throws(VerificationFailure) -> SignedNews {
        let lineage = message.question.lineage
        // Without its transaction there is nothing to verify; the empty text is refused as malformed.
        return try verifier.news(
            transaction: Array((transaction ?? "").utf8)[...], renewalInfo: renewal.map { Array($0.utf8)[...] },
            status: status, app: lineage.app, identity: identity, source: .status, answerFor: bundleID, now: now,
            environments: [lineage.environment])
    }
}

extension RevocationChecker {
    /// Throws when the settings let a certificate under the answer not pass.
    package func check(_ statuses: VerifiedStatuses) async throws(VerificationFailure) {
        guard settings.mode != .off else { return }
        var passing: VerificationFailure?
        for signature in statuses.signatures {
            do throws(VerificationFailure) {
                try await check(signature.chain, signedAt: signature.signedAt, part: signature.part)
            } catch {
                guard error.isRetryable else { throw error }
                passing = passing ?? error
            }
        }
        if let passing { throw passing }
    }
}
