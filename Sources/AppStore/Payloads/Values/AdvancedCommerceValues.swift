/// How often an Advanced Commerce subscription renews.
package enum AdvancedCommercePeriod: String, Vocabulary {
    case week = "P1W"
    case month = "P1M"
    case twoMonths = "P2M"
    case threeMonths = "P3M"
    case sixMonths = "P6M"
    case year = "P1Y"
}

package enum AdvancedCommerceOfferPeriod: String, Vocabulary {
    case threeDays = "P3D"
    case week = "P1W"
    case twoWeeks = "P2W"
    case month = "P1M"
    case twoMonths = "P2M"
    case threeMonths = "P3M"
    case sixMonths = "P6M"
    case nineMonths = "P9M"
    case year = "P1Y"
}

package enum AdvancedCommerceOfferReason: String, Vocabulary {
    case acquisition = "ACQUISITION"
    case winBack = "WIN_BACK"
    case retention = "RETENTION"
}

package enum AdvancedCommerceRefundReason: String, Vocabulary {
    case unintendedPurchase = "UNINTENDED_PURCHASE"
    case fulfillmentIssue = "FULFILLMENT_ISSUE"
    case unsatisfiedWithPurchase = "UNSATISFIED_WITH_PURCHASE"
    case legal = "LEGAL"
    case other = "OTHER"
    case modifyItemsRefund = "MODIFY_ITEMS_REFUND"
    case simulateRefundDecline = "SIMULATE_REFUND_DECLINE"
}

package enum AdvancedCommerceRefundType: String, Vocabulary {
    case full = "FULL"
    case prorated = "PRORATED"
    case custom = "CUSTOM"
}

package enum AdvancedCommercePriceIncreaseStatus: String, Vocabulary {
    case scheduled = "SCHEDULED"
    case pending = "PENDING"
    case accepted = "ACCEPTED"
}
