package import AppStore
package import Broker
package import Entitlements
package import Time

/// What a message of statuses says: what Apple answered, verified again.
package struct DecodedStatuses: Sendable {
    package let app: AppID
    package let message: StatusMessage
    package let verified: VerifiedStatuses

    /// What is applied, and what a replay folds.
    package var observations: [Observation] { verified.observations }
}

extension MessageDecoder {
    /// The same for a message whose header `kind` says that it is one of Apple's answers about a lineage.
    package func decodeStatuses(
        _ message: BrokerMessage, now: Timestamp
    ) async throws(MessageRefusal) -> DecodedStatuses {
        let (name, app) = try app(of: message)
        let statuses: StatusMessage
        do throws(StatusMessage.Unreadable) {
            statuses = try StatusMessage(decoding: message.body, app: name)
        } catch { throw .unreadable("statuses: \(error)") }
        guard statuses.answeredAt <= now + VerificationLimits().signedAhead else {
            throw .unreadable("statuses: answered at a time that has not come yet")
        }
        do throws(VerificationFailure) {
            let verified = try StatusVerifier(verifier.verifier).verify(statuses, for: app.identity, now: now)
            try await revocation?.check(verified)
            return DecodedStatuses(app: name, message: statuses, verified: verified)
        } catch { throw .verification(error) }
    }
}

extension BrokerMessage {
    /// What Apple answered about a lineage, for the exchange `intake`: to be applied, and into the ledger. `correlation` is
    /// of what made us ask, if anything did.
    package init(statuses: StatusMessage, correlation: String? = nil) {
        let id = statuses.id
        self.init(
            body: statuses.encoded(),
            headers: [
                MessageHeader.kind: StatusMessage.kind, MessageHeader.app: statuses.question.lineage.app.rawValue,
                MessageHeader.environment: statuses.question.lineage.environment.rawValue,
                MessageHeader.correlation: correlation ?? id, MessageHeader.receivedAt: statuses.answeredAt.rfc3339,
            ], messageID: id, contentType: "application/json", timestamp: statuses.answeredAt)
    }
}
