internal import JSON

/// Reads an Xcode `.storekit` configuration file, versions 4 and 5.
///
/// What the simulator has no use for (localizations, dialogs, errors to provoke) is passed over.
package enum StoreKitFile {
    package struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
        /// Where in the file, such as `subscriptionGroups[0].subscriptions[1].groupNumber`.
        package let field: String
        package let detail: String

        package var description: String { field.isEmpty ? detail : "\(field): \(detail)" }
    }

    package static func parse(_ bytes: [UInt8]) throws(Problem) -> Catalog {
        let file: JSONValue
        do {
            file = try JSONValue.parse(bytes)
        } catch {
            throw Problem(field: "", detail: "not JSON: \(error)")
        }
        if let major = file["version"]?["major"]?.int64, !(2...5).contains(major) {
            throw Problem(field: "version.major", detail: "version \(major) is not known; 4 and 5 are")
        }
        var products: [StoreProduct] = []
        for (list, kinds) in [("products", oneTimeKinds), ("nonRenewingSubscriptions", oneTimeKinds)] {
            for (index, item) in (file[list]?.array ?? []).enumerated() {
                let place = "\(list)[\(index)]"
                guard let kind = kinds[item["type"]?.string ?? ""] else {
                    throw Problem(
                        field: "\(place).type", detail: "one of \(kinds.keys.sorted().joined(separator: ", "))")
                }
                products.append(try product(item, kind, place))
            }
        }
        for (groupIndex, group) in (file["subscriptionGroups"]?.array ?? []).enumerated() {
            let place = "subscriptionGroups[\(groupIndex)]"
            let id = try text(group, "id", place)
            for (index, item) in (group["subscriptions"]?.array ?? []).enumerated() {
                let place = "\(place).subscriptions[\(index)]"
                let period = try period(item, "recurringSubscriptionPeriod", place)
                guard let level = item["groupNumber"]?.int64, (1...1000).contains(level) else {
                    throw Problem(field: "\(place).groupNumber", detail: "a number from 1 (the highest level)")
                }
                let kind = StoreProduct.Kind.autoRenewable(group: id, level: Int(level), period: period)
                var product = try product(item, kind, place)
                product.offers = try offers(item, place)
                products.append(product)
            }
        }
        var seen: Set<String> = []
        for product in products where !seen.insert(product.id).inserted {
            throw Problem(field: "productID", detail: "\(product.id) occurs twice")
        }
        guard !products.isEmpty else { throw Problem(field: "", detail: "there is no product in it") }
        return Catalog(
            products: products, storefront: file["settings"]?["_storefront"]?.string ?? "USA",
            hasGracePeriod: file["settings"]?["_billingGracePeriodEnabled"]?.bool ?? false)
    }

    private static let oneTimeKinds: [String: StoreProduct.Kind] = [
        "NonConsumable": .nonConsumable, "Consumable": .consumable, "NonRenewingSubscription": .nonRenewing,
    ]

    private static let modes: [String: StoreOffer.Mode] = [
        "free": .freeTrial, "payAsYouGo": .payAsYouGo, "payUpFront": .payUpFront,
    ]

    private static func product(
        _ item: JSONValue, _ kind: StoreProduct.Kind, _ place: String
    ) throws(Problem) -> StoreProduct {
        StoreProduct(
            id: try text(item, "productID", place), kind: kind, price: try price(item, place),
            isFamilyShareable: item["familyShareable"]?.bool ?? false)
    }

    private static func offers(_ item: JSONValue, _ place: String) throws(Problem) -> [StoreOffer] {
        var found: [StoreOffer] = []
        let introductory = item["introductoryOffers"]?.array ?? [item["introductoryOffer"]].compactMap { $0 }
        for (list, type, offers) in [
            ("introductoryOffers", .introductory, introductory),
            ("adHocOffers", .promotional, item["adHocOffers"]?.array ?? []),
            ("codeOffers", .code, item["codeOffers"]?.array ?? []),
            ("winbackOffers", .winBack, item["winbackOffers"]?.array ?? []),
        ] as [(String, StoreOffer.OfferType, [JSONValue])] {
            for (index, offer) in offers.enumerated() where !offer.isNull {
                let place = "\(place).\(list)[\(index)]"
                guard let mode = modes[offer["paymentMode"]?.string ?? ""] else {
                    throw Problem(field: "\(place).paymentMode", detail: "free, payAsYouGo or payUpFront")
                }
                let count = offer["numberOfPeriods"]?.int64 ?? 1
                guard (1...120).contains(count) else {
                    throw Problem(field: "\(place).numberOfPeriods", detail: "1 to 120")
                }
                found.append(
                    StoreOffer(
                        id: type == .introductory ? nil : try text(offer, "offerID", place), type: type, mode: mode,
                        period: try period(offer, "subscriptionPeriod", place), count: Int(count),
                        price: mode == .freeTrial ? 0 : try price(offer, place)))
            }
        }
        return found
    }

    private static func text(_ item: JSONValue, _ key: String, _ place: String) throws(Problem) -> String {
        guard let text = item[key]?.string, !text.isEmpty else {
            throw Problem(field: "\(place).\(key)", detail: "a text that is not empty")
        }
        return text
    }

    private static func period(_ item: JSONValue, _ key: String, _ place: String) throws(Problem) -> Period {
        guard let period = item[key]?.string.flatMap({ Period($0) }) else {
            throw Problem(field: "\(place).\(key)", detail: "a period such as P1W, P1M or P1Y")
        }
        return period
    }

    /// A display price such as `89.99` in milliunits; a comma is a decimal point too.
    private static func price(_ item: JSONValue, _ place: String) throws(Problem) -> Int64 {
        let problem = Problem(field: "\(place).displayPrice", detail: "a price such as 89.99")
        guard let text = item["displayPrice"]?.string, text.utf8.count <= 12 else { throw problem }
        let parts = text.split(omittingEmptySubsequences: false) { $0 == "." || $0 == "," }
        let fraction = parts.count == 2 ? parts[1] : ""
        guard parts.count <= 2, fraction.utf8.count <= 3, let whole = Int64(parts[0]), whole >= 0,
            let thousandths = Int64(fraction + String(repeating: "0", count: 3 - fraction.utf8.count)),
            thousandths >= 0
        else { throw problem }
        return whole * 1000 + thousandths
    }
}
