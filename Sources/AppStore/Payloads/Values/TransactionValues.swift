/// Apple's `type` of a product, as payloads spell it; the Server API's queries spell it otherwise.
package enum ProductType: String, Vocabulary {
    case autoRenewableSubscription = "Auto-Renewable Subscription"
    case nonConsumable = "Non-Consumable"
    case consumable = "Consumable"
    case nonRenewingSubscription = "Non-Renewing Subscription"
}

package enum InAppOwnershipType: String, Vocabulary {
    case purchased = "PURCHASED"
    case familyShared = "FAMILY_SHARED"
    /// A seat that an organisation bought and gave to this customer.
    case assigned = "ASSIGNED"
}

package enum TransactionReason: String, Vocabulary {
    case purchase = "PURCHASE"
    case renewal = "RENEWAL"
}

package enum OfferType: Int64, Vocabulary {
    case introductory = 1
    case promotional = 2
    case offerCode = 3
    case winBack = 4
    case retention = 5
}

package enum OfferDiscountType: String, Vocabulary {
    case freeTrial = "FREE_TRIAL"
    case payAsYouGo = "PAY_AS_YOU_GO"
    case payUpFront = "PAY_UP_FRONT"
    case oneTime = "ONE_TIME"
}

package enum PurchaseRevocationReason: Int64, Vocabulary {
    case other = 0
    case dueToIssue = 1
}

package enum PurchaseRevocationType: String, Vocabulary {
    case refundFull = "REFUND_FULL"
    case refundProrated = "REFUND_PRORATED"
    case familyRevoke = "FAMILY_REVOKE"
    case assignmentRevoke = "ASSIGNMENT_REVOKE"
}

package enum BillingPlanType: String, Vocabulary {
    case billedUpfront = "BILLED_UPFRONT"
    case monthly = "MONTHLY"
}

/// Who invites the members of a purchase of several seats.
package enum InvitationManagement: String, Vocabulary {
    case apple = "APPLE"
    case developer = "DEVELOPER"
}

package enum PurchasePlatform: String, Vocabulary {
    case iOS
    case macOS
    case tvOS
    case visionOS
}
