import Runtime
import Time

@testable import Simulator

/// Products of two levels, a lifetime and coins, and a clock that tests set.
enum Demo {
    static let start = Timestamp(milliseconds: 1_764_547_200_000)
    static let day = Duration.seconds(86_400)
    static let account = "11111111-2222-4333-8444-555555555555"

    static let catalog = Catalog(products: [
        subscription("premium.monthly", level: 1, "P1M", 9990),
        subscription("premium.yearly", level: 1, "P1Y", 99_990, isFamilyShareable: true),
        subscription("basic.monthly", level: 2, "P1M", 4990),
        subscription(
            "trial.monthly", level: 2, "P1M", 4990,
            offers: [StoreOffer(id: nil, type: .introductory, mode: .freeTrial, period: week)]),
        subscription(
            "steps.monthly", level: 2, "P1M", 4990,
            offers: [
                StoreOffer(id: nil, type: .introductory, mode: .payAsYouGo, period: month, count: 2, price: 990),
                StoreOffer(id: "back", type: .winBack, mode: .payUpFront, period: month, count: 3, price: 1990),
            ]),
        StoreProduct(id: "lifetime", kind: .nonConsumable, price: 149_990),
        StoreProduct(id: "coins", kind: .consumable, price: 990),
    ])

    static let week = period("P1W")
    static let month = period("P1M")

    static func store(_ settings: StoreSettings = StoreSettings()) -> Store {
        var store = Store(settings: settings, catalog: catalog, at: start)
        _ = try? store.createAccount(token: account, at: start)
        return store
    }

    private static func period(_ text: String) -> Period {
        guard let period = Period(text) else { preconditionFailure("a test's own constant") }
        return period
    }

    private static func subscription(
        _ id: String, level: Int, _ length: String, _ price: Int64, isFamilyShareable: Bool = false,
        offers: [StoreOffer] = []
    ) -> StoreProduct {
        StoreProduct(
            id: id, kind: .autoRenewable(group: "G1", level: level, period: period(length)), price: price,
            isFamilyShareable: isFamilyShareable, offers: offers)
    }
}

extension [StoreEvent] {
    var names: [String] { map(\.name) }
    var notifications: [StoreNotification] { compactMap(\.notification) }
}
