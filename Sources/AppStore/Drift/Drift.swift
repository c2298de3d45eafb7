package import Entitlements
package import Time

/// What Apple answered about a lineage and we did not know: news that should have come by a notification before.
///
/// Found where Apple's answer is applied, and examined a while later: by then it shows whether the notification is late, was
/// lost, or was never sent.
package struct Drift: Sendable, Hashable {
    /// The same for the same answer, however often it is applied.
    package let id: String
    package let lineage: LineageID
    /// What Apple was asked about.
    package let transactionID: String
    package let purpose: StatusMessage.Purpose
    /// When Apple's answer was there.
    package let foundAt: Timestamp
    package var differences: [Difference]
    /// What we took the lineage for, and what it is; nil for one that we had not heard of.
    package var before: LineageState?
    package var after: LineageState?

    package init(
        id: String, lineage: LineageID, transactionID: String, purpose: StatusMessage.Purpose, foundAt: Timestamp,
        differences: [Difference], before: LineageState? = nil, after: LineageState? = nil
    ) {
        self.id = id
        self.lineage = lineage
        self.transactionID = transactionID
        self.purpose = purpose
        self.foundAt = foundAt
        self.differences = differences
        self.before = before
        self.after = after
    }

    /// What the difference is in; the raw values are labels of metrics and never change.
    package enum Field: String, Sendable, CaseIterable {
        /// We had not heard of it at all.
        case lineage
        /// A period or purchase that we did not know.
        case transaction
        case expiresDate, revocationDate, revokedSeatQuantity, isUpgraded, appAccountToken
        case autoRenewStatus, autoRenewProductId, isInBillingRetryPeriod, gracePeriodExpiresDate, expirationIntent
        case priceIncreaseStatus
        case status
    }

    /// Why we did not know; the raw values are labels of metrics and never change.
    package enum Cause: String, Sendable, CaseIterable {
        /// The notification came after Apple had been asked.
        case late
        /// It had come before, and did not tell us: it lies in quarantine, or said something else.
        case unheeded
        /// Apple says that it delivered it, and we do not have it.
        case lost
        /// Apple says that it could not deliver it.
        case undelivered
        /// Apple's notification history has none.
        case neverSent
        /// No notification tells of this.
        case untold
        /// It could not be found out.
        case unknown

        /// Whether nothing is wrong with it.
        package var isHarmless: Bool { self == .late || self == .untold }
    }

    package struct Difference: Sendable, Hashable {
        package let field: Field
        /// What we knew; nil for nothing.
        package let ours: String?
        /// What Apple says.
        package let apples: String?
        /// The notifications that tell of it, the usual one first; none where there is none.
        package let tellers: [NotificationType]
        /// When what we knew was signed: the notification was signed later. Nil when we knew nothing.
        package let since: Timestamp?
        /// Nil until it is examined.
        package var cause: Cause?
        /// The notification that should have told, if Apple knows one.
        package var notificationUUID: String?

        package init(
            _ field: Field, ours: String?, apples: String?, tellers: [NotificationType], since: Timestamp?,
            cause: Cause? = nil, notificationUUID: String? = nil
        ) {
            self.field = field
            self.ours = ours
            self.apples = apples
            self.tellers = tellers
            self.since = since
            self.cause = cause
            self.notificationUUID = notificationUUID
        }
    }

    package var isExamined: Bool { differences.allSatisfy { $0.cause != nil } }
    /// Whether something is wrong that somebody should look at.
    package var isAlarming: Bool { differences.contains { $0.cause.map { !$0.isHarmless } ?? false } }
}
