/// What one can buy in the simulated store, by product id.
package struct Catalog: Sendable, Hashable {
    package private(set) var products: [String: StoreProduct] = [:]
    /// In the order of the configuration file.
    package private(set) var productIDs: [String] = []
    package var storefront: String
    package var hasGracePeriod: Bool

    package init(products: [StoreProduct], storefront: String = "USA", hasGracePeriod: Bool = false) {
        self.storefront = storefront
        self.hasGracePeriod = hasGracePeriod
        for product in products where self.products.updateValue(product, forKey: product.id) == nil {
            productIDs.append(product.id)
        }
    }
}

/// One product of the store.
package struct StoreProduct: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// `level` 1 is the highest in its group.
        case autoRenewable(group: String, level: Int, period: Period)
        case nonConsumable
        case consumable
        case nonRenewing
    }

    package var id: String
    package var kind: Kind
    /// Milliunits of the storefront's currency.
    package var price: Int64
    package var isFamilyShareable: Bool
    /// Introductory, promotional, code and win-back offers.
    package var offers: [StoreOffer]

    package init(id: String, kind: Kind, price: Int64, isFamilyShareable: Bool = false, offers: [StoreOffer] = []) {
        self.id = id
        self.kind = kind
        self.price = price
        self.isFamilyShareable = isFamilyShareable
        self.offers = offers
    }

    /// Apple's `type` in a transaction.
    var appleType: String {
        switch kind {
        case .autoRenewable: "Auto-Renewable Subscription"
        case .nonConsumable: "Non-Consumable"
        case .consumable: "Consumable"
        case .nonRenewing: "Non-Renewing Subscription"
        }
    }

    var group: String? {
        if case .autoRenewable(let group, _, _) = kind { group } else { nil }
    }

    var period: Period? {
        if case .autoRenewable(_, _, let period) = kind { period } else { nil }
    }

    var level: Int? {
        if case .autoRenewable(_, let level, _) = kind { level } else { nil }
    }

    var introductoryOffer: StoreOffer? { offers.first { $0.type == .introductory } }
}

/// A lower price for the first period or periods.
package struct StoreOffer: Sendable, Hashable {
    /// Apple's `offerType`.
    package enum OfferType: Int64, Sendable { case introductory = 1, promotional, code, winBack }
    /// Apple's `offerDiscountType`.
    package enum Mode: String, Sendable {
        case freeTrial = "FREE_TRIAL"
        case payAsYouGo = "PAY_AS_YOU_GO"
        case payUpFront = "PAY_UP_FRONT"
    }

    /// Absent for an introductory offer.
    package var id: String?
    package var type: OfferType
    package var mode: Mode
    package var period: Period
    /// How many periods in a row are sold so, one after the other when paying as one goes.
    package var count: Int
    package var price: Int64

    package init(id: String?, type: OfferType, mode: Mode, period: Period, count: Int = 1, price: Int64 = 0) {
        self.id = id
        self.type = type
        self.mode = mode
        self.period = period
        self.count = count
        self.price = price
    }
}
