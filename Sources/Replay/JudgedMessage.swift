internal import Broker
package import Consumer
package import Entitlements
package import Time

/// A message and what it says, without its body.
package struct JudgedMessage: Sendable {
    package enum Verdict: Sendable {
        /// What it says, each about one lineage, and what kind of news it is.
        case news([Observation], TransitionCause)
        /// Verified and without effect on any state; Apple's type.
        case noted(String)
        /// The consumer puts it into quarantine.
        case refused(MessageRefusal)
        /// A claim that was refused, without anything that Apple signed: nothing to fold.
        case refusedClaim
        /// Not asked for.
        case leftOut
    }

    package let place: LedgerMessage.Place
    package let app: String?
    package let messageID: String?
    package let receivedAt: Timestamp?
    package let verdict: Verdict

    init(_ message: LedgerMessage, _ receivedAt: Timestamp?, _ verdict: Verdict) {
        place = message.place
        app = message.app
        messageID = message.message.messageID
        self.receivedAt = receivedAt
        self.verdict = verdict
    }

    package var observations: [Observation] {
        if case .news(let observations, _) = verdict { observations } else { [] }
    }
}
