/// What each product gives: product id to entitlements, group, level and duration.
///
/// It holds every product id that was ever sold, since old lineages still carry them. A product it does not know grants
/// nothing and is reported as unmapped; adding it changes the answer without touching any record.
package struct ProductMap: Sendable, Hashable {
    package struct Product: Sendable, Hashable {
        package var entitlements: Set<String>
        /// Subscription group; levels compare within one.
        package var group: String?
        /// Level of service in the group, 1 the highest, as in App Store Connect.
        package var level: Int?
        /// How long a non-renewing subscription (or a consumable that grants something) lasts from its purchase.
        package var duration: Duration?

        package init(
            entitlements: Set<String> = [], group: String? = nil, level: Int? = nil, duration: Duration? = nil
        ) {
            self.entitlements = entitlements
            self.group = group
            self.level = level
            self.duration = duration
        }
    }

    /// Says which map gave an answer.
    package var version: String
    package var products: [String: Product]

    package init(version: String = "", products: [String: Product] = [:]) {
        self.version = version
        self.products = products
    }

    package subscript(productID: String) -> Product? { products[productID] }

    /// What a change from one product to another is.
    func change(from current: String, to next: String) -> PendingChange? {
        guard current != next else { return nil }
        guard let from = self[current], let to = self[next], from.group == to.group, let old = from.level,
            let new = to.level
        else { return .change }
        return new < old ? .upgrade : new > old ? .downgrade : .crossgrade
    }
}
