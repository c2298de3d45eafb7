package import Entitlements

/// Every notificationType with every subtype that Apple documents for it: which facts it carries, what a change of state
/// is put down to, which event it leads to, and what it means.
///
/// A pair that is not in it leads to `notification.unknown` and loses nothing: whatever facts are in it are applied, the
/// event names type and subtype as Apple sent them, and the ledger has the whole body.
package enum NotificationTable {
    package static let rows: [NotificationRow] = [
        NotificationRow(
            .subscribed, .initialBuy, .subscription, .purchase, .subscriptionStarted,
            "The customer subscribed for the first time, or got access through Family Sharing for the first time."),
        NotificationRow(
            .subscribed, .resubscribe, .subscription, .purchase, .subscriptionResubscribed,
            "The customer subscribed again, to the same or another product of the group, or got access through Family "
                + "Sharing again."),

        NotificationRow(
            .didRenew, nil, .subscription, .renewal, .subscriptionRenewed,
            "The subscription renewed for another period."),
        NotificationRow(
            .didRenew, .billingRecovery, .subscription, .recovery, .subscriptionRecovered,
            "A renewal that had failed was charged after all."),

        NotificationRow(
            .didChangeRenewalStatus, .autoRenewEnabled, .subscription, .preference, .renewalTurnedOn,
            "The customer turned automatic renewal on again."),
        NotificationRow(
            .didChangeRenewalStatus, .autoRenewDisabled, .subscription, .preference, .renewalTurnedOff,
            "The customer turned automatic renewal off, or the App Store did after a request for a refund; what is paid "
                + "stays."),

        NotificationRow(
            .didChangeRenewalPreference, .upgrade, .subscription, .preference, .productUpgraded,
            "The customer upgraded; the new product counts at once, and the rest of the old period is refunded."),
        NotificationRow(
            .didChangeRenewalPreference, .downgrade, .subscription, .preference, .productDowngradeScheduled,
            "The customer chose a lower product, or one with another duration; it counts from the next renewal on."),
        NotificationRow(
            .didChangeRenewalPreference, nil, .subscription, .preference, .productChangeCanceled,
            "The customer went back to the current product; the change that was scheduled is off."),
        NotificationRow(
            .didChangeRenewalPreference, .increaseQuantity, .subscription, .preference, .seatsIncreased,
            "The purchaser added seats, which count at once, or took back a reduction, which counts from the next "
                + "renewal on."),
        NotificationRow(
            .didChangeRenewalPreference, .decreaseQuantity, .subscription, .preference, .seatsDecreased,
            "The purchaser gave up seats; it counts from the next renewal on."),

        NotificationRow(
            .offerRedeemed, nil, .subscription, .offer, .offerRedeemed,
            "The customer redeemed an offer for the active subscription."),
        NotificationRow(
            .offerRedeemed, .initialBuy, .subscription, .offer, .offerRedeemed,
            "The customer subscribed for the first time by an offer."),
        NotificationRow(
            .offerRedeemed, .resubscribe, .subscription, .offer, .offerRedeemed,
            "The customer subscribed again by an offer."),
        NotificationRow(
            .offerRedeemed, .upgrade, .subscription, .offer, .offerRedeemed,
            "The customer upgraded by an offer; it counts at once."),
        NotificationRow(
            .offerRedeemed, .downgrade, .subscription, .offer, .offerRedeemed,
            "The customer downgraded by an offer; it counts from the next renewal on."),

        NotificationRow(
            .didFailToRenew, nil, .subscription, .failure, .billingFailed,
            "The renewal could not be charged and no grace period runs; the App Store goes on trying for 60 days."),
        NotificationRow(
            .didFailToRenew, .gracePeriod, .subscription, .failure, .billingGraceStarted,
            "The renewal could not be charged; access stays until the grace period ends."),
        NotificationRow(
            .gracePeriodExpired, nil, .subscription, .failure, .billingGraceEnded,
            "The grace period ended without a payment; the App Store goes on trying."),

        NotificationRow(
            .expired, .voluntary, .subscription, .expiry, .subscriptionExpired,
            "It expired after the customer turned automatic renewal off."),
        NotificationRow(
            .expired, .billingRetry, .subscription, .expiry, .subscriptionExpired,
            "It expired because every try to charge it failed."),
        NotificationRow(
            .expired, .priceIncrease, .subscription, .expiry, .subscriptionExpired,
            "It expired because the customer did not consent to a higher price."),
        NotificationRow(
            .expired, .productNotForSale, .subscription, .expiry, .subscriptionExpired,
            "It expired because the product was not for sale when it should have renewed."),
        NotificationRow(
            .expired, nil, .subscription, .expiry, .subscriptionExpired,
            "It expired for another reason."),

        NotificationRow(
            .priceIncrease, .pending, .any, .price, .priceIncreasePending,
            "The customer was asked to consent to a higher price and has not answered."),
        NotificationRow(
            .priceIncrease, .accepted, .any, .price, .priceIncreaseAccepted,
            "The customer consented to a higher price, or was told of one that needs no consent."),
        NotificationRow(
            .priceChange, nil, .any, .price, .priceChanged,
            "The price of an Advanced Commerce subscription was changed."),

        NotificationRow(
            .oneTimeCharge, nil, .oneTime, .purchase, .purchaseOneTime,
            "The customer bought a consumable, a non-consumable or a non-renewing subscription, or got one through "
                + "Family Sharing."),

        NotificationRow(
            .refund, nil, .purchase, .refund, .refundGranted,
            "A transaction was refunded; its access ends at its revocation date, that of later ones stays."),
        NotificationRow(
            .refund, .seats, .subscription, .refund, .seatsRefunded,
            "Some seats of a transaction were refunded; the purchaser keeps access."),
        NotificationRow(
            .refundDeclined, nil, .purchase, .other, .refundDeclined,
            "The App Store declined a refund; nothing changes."),
        NotificationRow(
            .refundReversed, nil, .purchase, .refundReversed, .refundReversed,
            "A refund was taken back because the customer disputed it; what it took is given again."),
        NotificationRow(
            .consumptionRequest, nil, .purchase, .other, .refundConsumptionRequested,
            "The customer asks for a refund and the App Store asks how much was used; answer within 12 hours, and only "
                + "with the customer's consent."),
        NotificationRow(
            .revoke, nil, .purchase, .revoke, .accessRevoked,
            "Access through Family Sharing, or an assigned seat, was withdrawn."),

        NotificationRow(
            .renewalExtended, nil, .subscription, .renewalExtension, .renewalExtended,
            "The renewal date of this subscription was extended."),
        NotificationRow(
            .renewalExtension, .summary, in: .summary, .none, .renewalExtension, .renewalExtensionSummary,
            "An extension for all subscribers of a product is done; says how many succeeded and failed."),
        NotificationRow(
            .renewalExtension, .failure, .any, .renewalExtension, .renewalExtensionFailed,
            "An extension for all subscribers of a product failed for this subscription."),

        NotificationRow(
            .externalPurchaseToken, .created, in: .externalPurchaseToken, .none, .other, .externalPurchaseTokenCreated,
            "A token for purchases outside of the App Store was made."),
        NotificationRow(
            .externalPurchaseToken, .activeTokenReminder, in: .externalPurchaseToken, .none, .other,
            .externalPurchaseTokenReminder,
            "A token for purchases outside of the App Store is still active, and its transactions are to be reported."),
        NotificationRow(
            .externalPurchaseToken, .unreported, in: .externalPurchaseToken, .none, .other,
            .externalPurchaseTokenUnreported,
            "A token for purchases outside of the App Store was made and Apple has no report about it."),

        NotificationRow(
            .rescindConsent, nil, in: .appData, .none, .other, .consentRescinded,
            "A parent took back the consent that a child may use the app."),
        NotificationRow(
            .metadataUpdate, nil, .any, .other, .metadataUpdated,
            "The description of an Advanced Commerce subscription was changed."),
        NotificationRow(
            .migration, nil, .any, .other, .subscriptionMigrated,
            "A subscription was moved to Advanced Commerce."),
        NotificationRow(
            .migrate, nil, .any, .other, .subscriptionMigrated,
            "The same, by the name that Apple's changelog has for it."),
        NotificationRow(
            .unclaimSeats, nil, in: .unclaimInfo, .none, .revoke, .seatsUnclaimed,
            "The App Store ended seat claims; those customers have no right to their seats any more."),
        NotificationRow(
            .test, nil, .none, .other, .testReceived,
            "A test that was asked for, by App Store Connect or by `holdfast doctor`."),
    ]

    /// The row of a notification, by its type and subtype as Apple sent them.
    package static func row(type: String?, subtype: String?) -> NotificationRow {
        guard let known = type.flatMap(NotificationType.init(rawValue:)) else { return unknown }
        if subtype ?? "" == "" { return documented[Pair(type: known, subtype: nil)] ?? undocumented(known) }
        guard let subtype = subtype.flatMap(NotificationSubtype.init(rawValue:)) else { return undocumented(known) }
        return documented[Pair(type: known, subtype: subtype)] ?? undocumented(known)
    }

    package static func row(of notification: NotificationPayload) -> NotificationRow {
        row(type: notification.notificationType?.raw, subtype: notification.subtype?.raw)
    }

    /// What a change is put down to that an observation brought: what a notification means, or that somebody answered.
    package static func cause(of observation: Observation) -> TransitionCause {
        guard observation.source == .notification else { return .answer }
        return row(type: observation.notificationType, subtype: observation.subtype).cause
    }

    /// The row of all types that are not known.
    package static let unknown = NotificationRow(undocumented: nil, .any)

    /// The row of a known type with a subtype that its rows do not have. It needs the facts that all of those need.
    package static func undocumented(_ type: NotificationType) -> NotificationRow { undocumentedRows[type] ?? unknown }

    private struct Pair: Hashable {
        let type: NotificationType
        let subtype: NotificationSubtype?
    }

    private static let documented = Dictionary(
        rows.compactMap { row in row.type.map { (Pair(type: $0, subtype: row.subtype), row) } },
        uniquingKeysWith: { first, _ in first })

    private static let undocumentedRows = Dictionary(grouping: rows.filter { $0.type != nil }, by: \.type)
        .reduce(into: [NotificationType: NotificationRow]()) { result, group in
            guard let type = group.key else { return }
            let isAboutPurchase = group.value.allSatisfy(\.isAboutPurchase)
            result[type] = NotificationRow(undocumented: type, isAboutPurchase ? .purchase : .any)
        }
}
