package import AppStore
import Broker
import Entitlements
import Time

extension LineageCheck {
    /// Asks Apple by way of `inquiry`.
    package static func asking(_ inquiry: StatusInquiry, for purpose: StatusMessage.Purpose) -> Ask {
        { record, priority throws(Silence) in
            do throws(StatusFailure) {
                let answer = try await inquiry.ask(StatusQuestion(about: record), for: purpose, priority)
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
