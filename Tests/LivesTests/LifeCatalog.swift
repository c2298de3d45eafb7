import Entitlements
import Time

@testable import Simulator

/// What there is to buy in the lives, and what it gives by which edition of the product map.
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
        subscription("team.monthly", group: "G3", level: 1, "P1M", 19_990),
        StoreProduct(id: "lifetime", kind: .nonConsumable, price: 149_990),
        StoreProduct(id: "season", kind: .nonRenewing, price: 29_990),
        StoreProduct(id: "coins", kind: .consumable, price: 990),
    ])

    /// What one edition of the map says of one product.
    struct Entry: Sendable {
        var gives: Set<String> = []
        var group: String?
        var level: Int?
        var days: Int64?
    }

    /// The editions of the map. A product that an edition leaves out is unmapped while it counts.
    static let editions: [[String: Entry]] = [first, richer, turned, poorer]

    private static let first: [String: Entry] = [
        "premium.monthly": Entry(gives: ["basic", "pro"], group: "G1", level: 1),
        "premium.yearly": Entry(gives: ["basic", "pro"], group: "G1", level: 1),
        "basic.monthly": Entry(gives: ["basic"], group: "G1", level: 2),
        "basic.weekly": Entry(gives: ["basic"], group: "G1", level: 2),
        "trial.monthly": Entry(gives: ["basic"], group: "G1", level: 2),
        "steps.monthly": Entry(gives: ["steps"], group: "G1", level: 3),
        "music.monthly": Entry(gives: ["music"], group: "G2", level: 1),
        "team.monthly": Entry(gives: ["team"], group: "G3", level: 1),
        "lifetime": Entry(gives: ["pro"]), "season": Entry(gives: ["season"], days: 90), "coins": Entry(),
    ]

    /// More is given, and a season is shorter.
    private static let richer = first.merging([
        "basic.weekly": Entry(gives: ["basic", "extra"], group: "G1", level: 2),
        "premium.yearly": Entry(gives: ["basic", "pro", "extra"], group: "G1", level: 1),
        "lifetime": Entry(gives: ["pro", "music"]), "season": Entry(gives: ["season", "extra"], days: 30),
    ]) { $1 }

    /// Levels the other way round, one product in a group of its own, one without a level.
    private static let turned = first.merging([
        "premium.monthly": Entry(gives: ["pro"], group: "G1", level: 2),
        "basic.monthly": Entry(gives: ["basic"], group: "G1", level: 1),
        "trial.monthly": Entry(gives: ["basic"], group: "elsewhere", level: 1),
        "steps.monthly": Entry(gives: ["steps"], group: "G1"),
    ]) { $1 }

    /// Old ids were forgotten, a season has no end.
    private static let poorer = first.merging(["season": Entry(gives: ["season"])]) { $1 }
        .filter { $0.key != "basic.weekly" && $0.key != "premium.yearly" && $0.key != "coins" }

    static let maps: [ProductMap] = editions.enumerated().map { number, edition in
        ProductMap(
            version: "\(number + 1)",
            products: edition.mapValues { entry in
                ProductMap.Product(
                    entitlements: entry.gives, group: entry.group, level: entry.level,
                    duration: entry.days.map { .seconds($0 * 86_400) })
            })
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
