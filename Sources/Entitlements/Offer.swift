/// An offer that a period is or will be paid with, in Apple's raw values: an unknown kind must survive.
package struct Offer: Sendable, Hashable {
    /// Apple's `offerType`: 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    package var type: Int64
    /// The name of a promotional or win-back offer, or of an offer code's campaign; introductory offers have none.
    package var identifier: String?
    /// Apple's `offerDiscountType`: FREE_TRIAL, PAY_AS_YOU_GO, PAY_UP_FRONT, ONE_TIME.
    package var discountType: String?

    init?(_ transaction: TransactionFact) {
        guard let type = transaction.offerType else { return nil }
        self.type = type
        identifier = transaction.offerIdentifier
        discountType = transaction.offerDiscountType
    }

    init?(_ renewal: RenewalFact) {
        guard let type = renewal.offerType else { return nil }
        self.type = type
        identifier = renewal.offerIdentifier
        discountType = renewal.offerDiscountType
    }
}

/// A rise in price that Apple has told the customer of.
package struct PriceIncrease: Sendable, Hashable {
    /// Whether the customer agreed, or need not be asked; until then the subscription ends with its period.
    package var isAgreed: Bool
    /// What the next renewal costs, in milliunits of `currency`; nil when Apple does not say.
    package var renewalPrice: Int64?
    package var currency: String?

    init?(_ renewal: RenewalFact) {
        guard let status = renewal.priceIncreaseStatus else { return nil }
        isAgreed = status == 1
        renewalPrice = renewal.renewalPrice
        currency = renewal.currency
    }
}
