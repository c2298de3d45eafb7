/// The state of a lineage at one instant.
package enum LineageState: String, Sendable, Hashable, CaseIterable {
    case active
    /// Paid up to the end, will not renew.
    case canceled
    case gracePeriod
    case billingRetry
    case expired
    case revoked
    /// The paid period is over and there is no word from Apple yet: still served, within the bound.
    case hold

    package var hasAccess: Bool {
        switch self {
        case .active, .canceled, .gracePeriod, .hold: true
        case .billingRetry, .expired, .revoked: false
        }
    }
}

/// What will happen when the current period ends, other than a plain renewal.
package enum PendingChange: String, Sendable, Hashable {
    case upgrade
    case downgrade
    /// To a product of the same level.
    case crossgrade
    /// To a product whose level, compared with the current one's, is not known to the map.
    case change
    case cancel
}

/// What sort of purchase a lineage is, by Apple's `type`.
package enum PurchaseKind: String, Sendable, Hashable {
    case autoRenewable
    case nonRenewing
    /// A non-consumable: bought once, for ever.
    case lifetime
    case consumable
    /// A type Apple has added since.
    case unknown

    /// Without a type, what expires renews.
    init(type: String?, expires: Bool) {
        switch type {
        case "Auto-Renewable Subscription": self = .autoRenewable
        case "Non-Renewing Subscription": self = .nonRenewing
        case "Non-Consumable": self = .lifetime
        case "Consumable": self = .consumable
        default: self = expires ? .autoRenewable : .unknown
        }
    }
}

/// Why a lineage is in its state: a stable code, and a sentence for people.
package enum StateReason: String, Sendable, Hashable, CaseIterable {
    case paid
    case autoRenewOff
    case inGracePeriod
    case inBillingRetry
    case gracePeriodOver
    case awaitingApple
    case renewalNotSeen
    case noWordFromApple
    case expiredByApple
    case notRenewed
    case refunded
    case withdrawn
    case revokedByApple
    case upgraded
    case lifetime
    case oneTimePurchase
    case durationUnknown
    case durationOver
    case notBegun
    case noTransaction

    package var sentence: String {
        switch self {
        case .paid: "The current period is paid and will renew."
        case .autoRenewOff: "The current period is paid; automatic renewal is turned off."
        case .inGracePeriod: "The renewal could not be charged; Apple grants a grace period."
        case .inBillingRetry: "The renewal could not be charged and Apple is trying again; no grace period runs."
        case .gracePeriodOver: "The grace period is over and no payment has been seen."
        case .awaitingApple: "The paid period is over, it should have renewed, and there is no word from Apple yet."
        case .renewalNotSeen: "Apple says the subscription is active, but its newest transaction has not been seen yet."
        case .noWordFromApple: "The paid period is over and Apple's word has not come within the bound."
        case .expiredByApple: "Apple says the subscription has expired."
        case .notRenewed: "The paid period is over and automatic renewal was turned off."
        case .refunded: "Apple refunded the current period."
        case .withdrawn: "Access that was shared or assigned was withdrawn."
        case .revokedByApple: "Apple says the subscription is revoked."
        case .upgraded: "The transaction was upgraded; the one that replaces it has not been seen yet."
        case .lifetime: "Bought once; does not expire."
        case .oneTimePurchase: "Bought once; runs for the time the product map gives."
        case .durationUnknown: "Bought once; the product map gives no duration, so it does not end."
        case .durationOver: "Bought once; the time the product map gives is over."
        case .notBegun: "The first known period begins later."
        case .noTransaction: "No transaction of this lineage has been seen yet."
        }
    }
}
