import AppStore
import Entitlements
import JSON
import Time

/// What an event carries beyond what all carry: a member of its JSON, and the fields in it.
///
/// `plan` and `seats.current` are what the lineage means after the notification was applied; all else is what Apple signed
/// in this very notification.
enum EventDetail: String, Sendable, CaseIterable {
    case purchase, offer, nextOffer, plan, price, billing, expiration, revocation, consumptionRequest
    case renewalExtension = "extension"
    case extensionSummary, externalPurchaseToken, seats, unclaimedSeats, appTransactionId
    case previousOriginalTransactionId

    /// Fields and what they say, in the order in which they are written; for what is no object, one without a name.
    var fields: KeyValuePairs<String, String> {
        switch self {
        case .purchase:
            [
                "purchaseDate": "begin of the period", "expiresDate": "its end",
                "price": "in thousandths of `currency`",
                "currency": "ISO 4217", "quantity": "how many were bought, or seats",
            ]
        case .offer, .nextOffer:
            [
                "type": "Apple's `offerType`: 1 introductory, 2 promotional, 3 offer code, 4 win-back",
                "identifier": "the offer's name", "discountType": "such as `FREE_TRIAL`",
            ]
        case .plan:
            [
                "willRenew": "whether it will renew", "nextProductId": "the product of the next period",
                "change": "`upgrade`, `downgrade`, `crossgrade`, `change` or `cancel`, if it is not a plain renewal",
                "changeAt": "when that counts",
            ]
        case .price:
            [
                "renewalPrice": "what the next renewal costs, in thousandths of `currency`", "currency": "ISO 4217",
                "agreed": "whether the customer consented, or need not be asked; null: Apple does not say",
            ]
        case .billing:
            [
                "gracePeriodExpiresDate": "until when access stays",
                "isInBillingRetryPeriod": "whether the App Store tries to charge it",
            ]
        case .expiration:
            [
                "intent":
                    "Apple's `expirationIntent`: 1 canceled, 2 billing, 3 no consent to the price, 4 not for sale, 5 other"
            ]
        case .revocation:
            [
                "date": "since when it is taken back",
                "type": "such as `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE`",
                "percentage": "how much was refunded, in thousandths of a percent",
                "reason": "Apple's `revocationReason`: 1 an issue with the app, 0 other",
                "seats": "how many seats were refunded, if not all",
            ]
        case .consumptionRequest:
            ["reason": "why the customer wants a refund, in Apple's word", "answerBy": "12 hours after `signedDate`"]
        case .renewalExtension:
            ["expiresDate": "the new end of the period", "renewalDate": "when it renews"]
        case .extensionSummary:
            [
                "requestIdentifier": "of the request", "storefronts": "to which it was limited; empty: all",
                "succeeded": "subscriptions that were extended", "failed": "those that were not",
            ]
        case .externalPurchaseToken:
            [
                "id": "Apple's `externalPurchaseId`", "type": "`ACQUISITION` or `SERVICES`",
                "createdAt": "when it was made",
                "expiresAt": "until when it can be used",
            ]
        case .seats: ["current": "seats that are paid and not taken back", "atRenewal": "seats that will renew"]
        case .unclaimedSeats: ["": "list of seat claim ids"]
        case .appTransactionId: ["": "names the customer's copy of the app"]
        case .previousOriginalTransactionId: ["": "the subscription's id before the migration"]
        }
    }

    func write(_ event: OutboundEvent, to json: inout JSONWriter) {
        let transaction = event.notification.transaction?.payload
        let renewal = event.notification.renewalInfo?.payload
        let after = event.after
        switch self {
        case .purchase:
            json.object(rawValue) {
                $0.member("purchaseDate", transaction?.purchaseDate?.rfc3339)
                $0.member("expiresDate", transaction?.expiresDate?.rfc3339)
                $0.member("price", transaction?.price)
                $0.member("currency", transaction?.currency)
                $0.member("quantity", transaction?.quantity)
            }
        case .offer:
            Self.write(
                transaction?.offerType, transaction?.offerIdentifier, transaction?.offerDiscountType, rawValue, &json)
        case .nextOffer:
            Self.write(renewal?.offerType, renewal?.offerIdentifier, renewal?.offerDiscountType, rawValue, &json)
        case .plan:
            json.object(rawValue) {
                $0.member("willRenew", after?.willRenew ?? false)
                $0.member("nextProductId", after?.nextProductID)
                $0.member("change", after?.pendingChange?.rawValue)
                $0.member("changeAt", after?.pendingChangeAt?.rfc3339)
            }
        case .price:
            json.object(rawValue) {
                $0.member("renewalPrice", renewal?.renewalPrice)
                $0.member("currency", renewal?.currency)
                $0.member("agreed", orNull: renewal?.priceIncreaseStatus?.known.map { $0 == .consentedOrNotified })
            }
        case .billing:
            json.object(rawValue) {
                $0.member("gracePeriodExpiresDate", renewal?.gracePeriodExpiresDate?.rfc3339)
                $0.member("isInBillingRetryPeriod", orNull: renewal?.isInBillingRetryPeriod)
            }
        case .expiration: json.object(rawValue) { $0.member("intent", renewal?.expirationIntent?.raw) }
        case .revocation:
            json.object(rawValue) {
                $0.member("date", transaction?.revocationDate?.rfc3339)
                $0.member("type", transaction?.revocationType?.raw)
                $0.member("percentage", transaction?.revocationPercentage)
                $0.member("reason", transaction?.revocationReason?.raw)
                $0.member("seats", transaction?.revokedSeatQuantity)
            }
        case .renewalExtension:
            json.object(rawValue) {
                $0.member("expiresDate", transaction?.expiresDate?.rfc3339)
                $0.member("renewalDate", renewal?.renewalDate?.rfc3339)
            }
        case .seats:
            json.object(rawValue) {
                $0.member("current", after?.seats)
                $0.member("atRenewal", renewal?.renewalQuantity)
            }
        case .previousOriginalTransactionId: json.member(rawValue, transaction?.previousOriginalTransactionID)
        case .appTransactionId:
            json.member(rawValue, event.notification.appTransaction?.payload.appTransactionID)
        case .consumptionRequest, .extensionSummary, .externalPurchaseToken, .unclaimedSeats:
            write(event.notification.payload, to: &json)
        }
    }

    /// What stands in the notification's own object.
    private func write(_ payload: NotificationPayload, to json: inout JSONWriter) {
        switch (self, payload.body) {
        case (.consumptionRequest, .data(let data)):
            json.object(rawValue) {
                $0.member("reason", data.consumptionRequestReason?.raw)
                $0.member("answerBy", payload.signedDate.map { ($0 + Self.timeToAnswer).rfc3339 })
            }
        case (.extensionSummary, .summary(let summary)):
            json.object(rawValue) {
                $0.member("requestIdentifier", summary.requestIdentifier)
                $0.array("storefronts", summary.storefrontCountryCodes) { $0.string($1) }
                $0.member("succeeded", summary.succeededCount)
                $0.member("failed", summary.failedCount)
            }
        case (.externalPurchaseToken, .externalPurchaseToken(let token)):
            json.object(rawValue) {
                $0.member("id", token.externalPurchaseID)
                $0.member("type", token.tokenType?.raw)
                $0.member("createdAt", token.tokenCreationDate?.rfc3339)
                $0.member("expiresAt", token.tokenExpirationDate?.rfc3339)
            }
        case (.unclaimedSeats, .unclaimInfo(let info)): json.array(rawValue, info.unclaimSeatIDs) { $0.string($1) }
        // Its object is another one than the table expects, or none.
        default: json.member(rawValue, String?.none)
        }
    }

    /// From the request for consumption data to the last moment at which the App Store takes it.
    static let timeToAnswer = Duration.seconds(12 * 3600)

    private static func write(
        _ type: Raw<OfferType>?, _ identifier: String?, _ discount: Raw<OfferDiscountType>?, _ name: String,
        _ json: inout JSONWriter
    ) {
        guard let type else { return json.member(name, String?.none) }
        json.object(name) {
            $0.member("type", type.raw)
            $0.member("identifier", identifier)
            $0.member("discountType", discount?.raw)
        }
    }
}

extension EventName {
    /// What it carries beyond what all events carry.
    var details: [EventDetail] {
        switch self {
        case .subscriptionStarted, .subscriptionResubscribed, .subscriptionRenewed, .subscriptionRecovered,
            .purchaseOneTime:
            [.purchase, .offer]
        case .offerRedeemed: [.purchase, .offer, .nextOffer, .plan]
        case .productUpgraded: [.purchase, .offer, .plan]
        case .productDowngradeScheduled, .productChangeCanceled: [.plan, .nextOffer]
        case .renewalTurnedOn, .renewalTurnedOff: [.plan]
        case .subscriptionExpired: [.expiration]
        case .subscriptionMigrated: [.previousOriginalTransactionId]
        case .billingFailed, .billingGraceStarted, .billingGraceEnded: [.billing]
        case .priceIncreasePending, .priceIncreaseAccepted, .priceChanged: [.price]
        case .refundGranted, .accessRevoked: [.revocation]
        case .refundConsumptionRequested: [.consumptionRequest]
        case .renewalExtended: [.renewalExtension]
        case .renewalExtensionSummary: [.extensionSummary]
        case .seatsIncreased, .seatsDecreased: [.seats]
        case .seatsRefunded: [.revocation, .seats]
        case .seatsUnclaimed: [.unclaimedSeats]
        case .externalPurchaseTokenCreated, .externalPurchaseTokenReminder, .externalPurchaseTokenUnreported:
            [.externalPurchaseToken]
        case .consentRescinded: [.appTransactionId]
        case .refundDeclined, .refundReversed, .renewalExtensionFailed, .metadataUpdated, .testReceived,
            .notificationUnknown, .entitlementChanged, .transferLost, .transferGained, .reminderDue, .appleHealth,
            .driftFound:
            []
        }
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, orNull value: Bool?) {
        guard let value else { return member(name, String?.none) }
        member(name, value)
    }
}
