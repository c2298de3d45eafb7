package import AppStore
import Broker
import Entitlements
import Time

extension LineageSettling {
    /// Asks Apple by way of `inquiry`, ahead of everything but what somebody waits for.
    package static func asking(_ inquiry: StatusInquiry) -> Ask {
        { record throws(Silence) in
            do throws(StatusFailure) {
                let answer = try await inquiry.ask(StatusQuestion(about: record), for: .recovery, .expiring)
                return Word(
                    message: BrokerMessage(statuses: answer.message), observations: answer.observations,
                    said: answer.said)
            } catch {
                var unusable: BrokerMessage?
                if case .unusable(_, let message) = error { unusable = BrokerMessage(statuses: message) }
                throw Silence(
                    reason: error.description, isPassing: error.isPassing, retryAfter: error.retryAfter,
                    unusable: unusable)
            }
        }
    }
}

extension StatusAnswer {
    /// What Apple said about the lineage, in a word.
    fileprivate var said: String {
        let lineage = message.question.lineage
        let own = observations.filter { $0.lineage == lineage }
        guard !own.isEmpty else { return "nothing about this lineage" }
        if let status = own.compactMap(\.status?.status).first { return "status \(status)" }
        let revoked = own.compactMap(\.transaction?.revocationDate).first
        return revoked.map { "revoked on \($0.rfc3339)" } ?? "a transaction that stands"
    }
}

extension BrokerMessage {
    /// Apple's answer on its way into the intake, as the gateway sends one.
    init(statuses: StatusMessage) {
        self.init(
            body: statuses.encoded(),
            headers: [
                MessageHeader.kind: StatusMessage.kind, MessageHeader.app: statuses.question.lineage.app.rawValue,
                MessageHeader.environment: statuses.question.lineage.environment.rawValue,
                MessageHeader.correlation: statuses.id, MessageHeader.receivedAt: statuses.answeredAt.rfc3339,
            ], messageID: statuses.id, contentType: "application/json", timestamp: statuses.answeredAt)
    }
}
