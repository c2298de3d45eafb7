package import JSON
package import Time

/// What came of asking Apple for an answer (`?refresh=true`): `service.refresh` of the answer.
package struct RefreshNote: Sendable, Hashable {
    package enum Result: String, Sendable, CaseIterable {
        /// Apple answered about all that could be another, and it is folded into this answer.
        case done
        /// About some of it.
        case partly
        /// About nothing: the answer is what it would have been.
        case failed
        /// There was nothing to ask, or nobody to ask it.
        case notPossible
    }

    /// Why it is no more than that. Of several, the first counts.
    package enum Reason: String, Sendable, CaseIterable {
        case noPurchases
        case noKey
        case appleUnreachable
        case busy
        case notKept
        case timeout
        case appleFailed
        case rateLimited
        case keyRefused
        case unusable
        case refused
        case silent
        case tooMany
        case recent

        package var sentence: String {
            switch self {
            case .noPurchases: "Nothing is known of the customer that Apple could be asked about."
            case .noKey: "The settings have no In-App Purchase key for this app, so Apple cannot be asked."
            case .appleUnreachable: "Apple has not answered of late, so it was not asked."
            case .busy: "Too many refreshes are going on."
            case .notKept: "Apple answered, but the answer could not be kept, so it does not count."
            case .timeout: "Apple did not answer in time. What it answers later counts as soon as it comes."
            case .appleFailed: "Apple could not be reached, or failed."
            case .rateLimited: "Apple's rate limit leaves no room for another call now."
            case .keyRefused: "Apple does not take the app's In-App Purchase key."
            case .unusable: "Something in Apple's answer is not to be used; it lies in quarantine."
            case .refused: "Apple does not know the purchase, or refuses to tell of it."
            case .silent: "Apple's answer says nothing about the purchase."
            case .tooMany: "The customer has more purchases than one refresh asks about."
            case .recent: "Apple was asked a moment ago."
            }
        }
    }

    package var result: Result
    package var reason: Reason?
    /// When Apple was asked; nil when it was not.
    package var askedAt: Timestamp?
    /// Purchases that Apple was asked about, and those of them that it answered about.
    package var asked: Int
    package var answered: Int

    package init(
        _ result: Result, _ reason: Reason? = nil, askedAt: Timestamp? = nil, asked: Int = 0, answered: Int = 0
    ) {
        self.result = result
        self.reason = reason
        self.askedAt = askedAt
        self.asked = asked
        self.answered = answered
    }

    /// The members of an object that the caller has begun.
    package func write(to json: inout JSONWriter) {
        json.member("result", result.rawValue)
        json.member("reason", reason?.rawValue)
        json.member("detail", reason?.sentence)
        json.member("askedAt", askedAt?.rfc3339)
        json.member("asked", asked)
        json.member("answered", answered)
    }
}
