/// How one call of the App Store Server API ended, for whoever watches how Apple does.
package struct ServerAPIOutcome: Sendable {
    package let endpoint: ServerAPIEndpoint
    /// Nil when Apple answered what was asked.
    package let failure: ServerAPIFailure?
    /// When it was sent, after it had waited for its turn; nil for one that never was.
    package let sentAt: ContinuousClock.Instant?
    package let endedAt: ContinuousClock.Instant

    package init(
        _ endpoint: ServerAPIEndpoint, failure: ServerAPIFailure?, sentAt: ContinuousClock.Instant?,
        endedAt: ContinuousClock.Instant
    ) {
        self.endpoint = endpoint
        self.failure = failure
        self.sentAt = sentAt
        self.endedAt = endedAt
    }
}
