import Entitlements
import Time

@testable import Simulator

/// What there is to buy in the lives, and what it gives.
enum LifeCatalog {
    static let start = Timestamp(milliseconds: 1_764_547_200_000)
    static let accounts = ["11111111-2222-4333-8444-555555555555", "66666666-7777-4888-8999-aaaaaaaaaaaa"]
    static let app = AppID("demo")

    static let catalog = Catalog(products: [
        subscription("premium.monthly", level: 1, "P1M", 9990),
        subscription("premium.yearly", level: 1, "P1Y", 99_990, isFamilyShareable: true),
        subscription("basic.monthly", level: 2, "P1M", 4990, isFamilyShareable: true),
        subscription("basic.weekly", level: 2, "P1W", 1990),
        subscription("trial.monthly", level: 2, "P1M", 4990, offers: [offer(nil, .introductory, .freeTrial, "P1W")]),
        subscription(
            "steps.monthly", level: 3, "P1M", 4990,
            offers: [
                offer(nil, .introductory, .payAsYouGo, "P1M", count: 2, price: 990),
                offer("back", .winBack, .payUpFront, "P1M", count: 3, price: 1990),
            ]),
        subscription("music.monthly", group: "G2", level: 1, "P1M", 4990),
        StoreProduct(id: "lifetime", kind: .nonConsumable, price: 149_990),
        StoreProduct(id: "coins", kind: .consumable, price: 990),
    ])

    /// Each subscription gives the entitlement of its level, and a lifetime that of the highest.
    static let map = ProductMap(
        version: "1",
        products: Dictionary(
            uniqueKeysWithValues: catalog.products.values.map { product in
                (
                    product.id,
                    ProductMap.Product(
                        entitlements: entitlements(of: product), group: product.group, level: product.level)
                )
            }))

    static func entitlements(of product: StoreProduct) -> Set<String> {
        switch product.kind {
        case .autoRenewable(let group, let level, _): ["\(group) level \(level)"]
        case .nonConsumable: ["G1 level 1"]
        case .consumable, .nonRenewing: []
        }
    }

    private static func subscription(
        _ id: String, group: String = "G1", level: Int, _ length: String, _ price: Int64,
        isFamilyShareable: Bool = false, offers: [StoreOffer] = []
    ) -> StoreProduct {
        StoreProduct(
            id: id, kind: .autoRenewable(group: group, level: level, period: period(length)), price: price,
            isFamilyShareable: isFamilyShareable, offers: offers)
    }

    private static func offer(
        _ id: String?, _ type: StoreOffer.OfferType, _ mode: StoreOffer.Mode, _ length: String, count: Int = 1,
        price: Int64 = 0
    ) -> StoreOffer {
        StoreOffer(id: id, type: type, mode: mode, period: period(length), count: count, price: price)
    }

    private static func period(_ text: String) -> Period {
        guard let period = Period(text) else { preconditionFailure("a test's own constant") }
        return period
    }
}
