/// The events that others can listen to on the exchange `events`; the raw values stand in routing keys and never change.
///
/// `NotificationTable` says which notification leads to which; docs/events.md says what each carries.
package enum EventName: String, Sendable, Hashable, CaseIterable {
    case subscriptionStarted = "subscription.started"
    case subscriptionResubscribed = "subscription.resubscribed"
    case subscriptionRenewed = "subscription.renewed"
    case subscriptionRecovered = "subscription.recovered"
    case subscriptionExpired = "subscription.expired"
    case subscriptionMigrated = "subscription.migrated"
    case purchaseOneTime = "purchase.oneTime"
    case offerRedeemed = "offer.redeemed"

    case renewalTurnedOn = "renewal.turnedOn"
    case renewalTurnedOff = "renewal.turnedOff"
    case renewalExtended = "renewal.extended"
    case renewalExtensionFailed = "renewal.extensionFailed"
    case renewalExtensionSummary = "renewal.extensionSummary"

    case productUpgraded = "product.upgraded"
    case productDowngradeScheduled = "product.downgradeScheduled"
    case productChangeCanceled = "product.changeCanceled"

    case billingFailed = "billing.failed"
    case billingGraceStarted = "billing.graceStarted"
    case billingGraceEnded = "billing.graceEnded"

    case priceIncreasePending = "priceIncrease.pending"
    case priceIncreaseAccepted = "priceIncrease.accepted"
    case priceChanged = "price.changed"

    case refundGranted = "refund.granted"
    case refundDeclined = "refund.declined"
    case refundReversed = "refund.reversed"
    case refundConsumptionRequested = "refund.consumptionRequested"
    case accessRevoked = "access.revoked"

    case seatsIncreased = "seats.increased"
    case seatsDecreased = "seats.decreased"
    case seatsRefunded = "seats.refunded"
    case seatsUnclaimed = "seats.unclaimed"

    case externalPurchaseTokenCreated = "externalPurchaseToken.created"
    case externalPurchaseTokenReminder = "externalPurchaseToken.reminder"
    case externalPurchaseTokenUnreported = "externalPurchaseToken.unreported"

    case consentRescinded = "consent.rescinded"
    case metadataUpdated = "metadata.updated"
    case testReceived = "test.received"
    /// A purchase went from this customer to another; it follows from a claim or from another token, not from a type.
    case transferLost = "transfer.lost"
    case transferGained = "transfer.gained"

    /// A type, or a subtype of a type, that this version does not know.
    case notificationUnknown = "notification.unknown"

    /// An end is near at which nothing renews by itself: 7 days, 3 days and 24 hours before it.
    case reminderDue = "reminder.due"

    /// Apple's App Store Server API became slow or unreachable, or is fine again, as one consumer sees it.
    case appleHealth = "apple.health"

    /// Apple said something that a notification should have told before, and it was examined why it had not.
    case driftFound = "drift.found"

    /// What a customer may use, or when it ends, may be another than before: read again. No notification leads to it by
    /// its type; it follows from what applying changed.
    case entitlementChanged = "entitlement.changed"
}
