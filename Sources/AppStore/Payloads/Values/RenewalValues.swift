/// Why a subscription expired.
package enum ExpirationIntent: Int64, Vocabulary {
    case customerCanceled = 1
    case billingError = 2
    case noConsentToPriceIncrease = 3
    case productNotAvailable = 4
    case other = 5
}

package enum AutoRenewStatus: Int64, Vocabulary {
    case off = 0
    case on = 1
}

package enum PriceIncreaseStatus: Int64, Vocabulary {
    case notResponded = 0
    case consentedOrNotified = 1
}
