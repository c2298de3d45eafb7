package import AppStore
package import Broker
package import Entitlements
package import Time

/// Turns a message into what it says: verified again, decoded, and nothing done about it.
///
/// The consumer applies what comes out of this, and a replay of the ledger folds it: one piece of code, so that the two
/// cannot differ.
package struct MessageDecoder: Sendable {
    package let apps: [AppID: ConsumerApp]
    let verifier: NotificationVerifier
    /// Nil when nobody is asked whether certificates are revoked.
    let revocation: RevocationChecker?

    package init(
        apps: [AppID: ConsumerApp], verifier: NotificationVerifier, revocation: RevocationChecker? = nil
    ) {
        self.apps = apps
        self.verifier = verifier
        self.revocation = revocation
    }

    /// `now` is when the message is judged: for one out of the ledger, when it was received.
    package func decode(_ message: BrokerMessage, now: Timestamp) async throws(MessageRefusal) -> DecodedMessage {
        let (name, app) = try app(of: message)
        do {
            let notification = try verifier.verify(message.body, for: app.identity, now: now)
            try await revocation?.check(notification)
            return DecodedMessage(
                app: name, notification: notification, observation: notification.observation(app: name))
        } catch { throw .verification(error) }
    }

    func app(of message: BrokerMessage) throws(MessageRefusal) -> (AppID, ConsumerApp) {
        guard let name = message.headers[MessageHeader.app] else { throw .unknownApp(nil) }
        guard let app = apps[AppID(name)] else { throw .unknownApp(name) }
        return (AppID(name), app)
    }
}

/// What a message says.
package struct DecodedMessage: Sendable {
    package let app: AppID
    package let notification: VerifiedNotification
    /// Nil when it is about no lineage (TEST, summaries, tokens, consent, unknown types): it is noted and changes nothing.
    package let observation: Observation?

    /// What the news is, for the lineage's history.
    package var cause: TransitionCause { NotificationTable.row(of: notification.payload).cause }
}

/// Why a message cannot be applied.
package enum MessageRefusal: Error, Sendable, Hashable {
    /// The app that the message names is not in the settings; nil when it names none.
    case unknownApp(String?)
    case verification(VerificationFailure)
    /// One of posted purchases.
    case purchase(PurchaseFailure)
    /// The body is not what the message says it is.
    case unreadable(String)

    /// What did not pass verification.
    var failure: VerificationFailure? {
        switch self {
        case .verification(let failure): failure
        case .purchase(let purchase): purchase.failure
        case .unknownApp, .unreadable: nil
        }
    }

    /// Stable, as it stands in quarantine.
    package var code: String {
        switch self {
        case .unknownApp: "unknownApp"
        case .verification(let failure): failure.code.rawValue
        case .purchase(let purchase): purchase.failure.code.rawValue
        case .unreadable: "malformed"
        }
    }

    package var sentence: String {
        switch self {
        case .unknownApp(let name?): "The settings name no app \(name)."
        case .unknownApp(nil): "The message names no app."
        case .verification(let failure): failure.description
        case .purchase(let purchase): purchase.description
        case .unreadable(let reason): reason
        }
    }
}
