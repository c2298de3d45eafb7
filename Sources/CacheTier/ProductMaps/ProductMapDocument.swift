internal import AppStore
package import Entitlements
internal import JSON
package import Runtime

/// A product map as a file: `{"products": {id: {"entitlements": […], "group": …, "level": …, "duration": …}}}`, JSON with
/// `//` comments, checked by the reader that checks the settings.
///
/// A product with no entitlements is one that is known and grants nothing, which is not the same as one that is missing.
package struct ProductMapDocument: Sendable, Hashable {
    package static let maximumBytes = 4 << 20

    package let products: [String: ProductMap.Product]
    /// The one way to write these products: sorted, without comments. What is stored, hashed and compared.
    package let canonical: [UInt8]
    /// Of the canonical bytes, in hexadecimal.
    package let digest: String

    package init(products: [String: ProductMap.Product]) {
        self.products = products
        canonical = Self.canonical(products)
        digest = SHA256.hexadecimal(canonical)
    }

    /// Throws all mistakes at once.
    package init(parsing bytes: [UInt8]) throws(SettingsError) {
        let file: JSONValue
        do { file = try JSONValue.parse(bytes, allowingComments: true) } catch {
            throw SettingsError(problems: ["not JSON: \(error)"])
        }
        var reader = SettingsReader(file: file, environment: [:])
        let products = ProductMap.Product.readAll(&reader)
        if file.object != nil, file["products"] == nil {
            reader.complain(about: "products", "is needed, an object of product ids")
        }
        for id in products.keys.sorted() where !id.isName(upTo: 255) {
            reader.complain(
                about: "products.\(id.printable(limit: 80))", "a product id has 1 to 255 bytes, all printable")
        }
        try reader.finish()
        self.init(products: products)
    }

    private static func canonical(_ products: [String: ProductMap.Product]) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 32 + 96 * products.count)
        json.beginObject()
        json.object("products") { json in
            // By bytes: an order that no version of Unicode changes.
            for (id, product) in products.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                json.key(id)
                json.beginObject()
                let entitlements = product.entitlements.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                json.array("entitlements", entitlements) { json, entitlement in json.string(entitlement) }
                if let group = product.group { json.member("group", group) }
                if let level = product.level { json.member("level", level) }
                if let duration = product.duration { json.member("duration", duration.settingText) }
                json.endObject()
            }
        }
        json.endObject()
        return json.bytes
    }
}

extension ProductMap.Product {
    /// Reads the object `products`, in the settings of an app and in a file of its own.
    package static func readAll(_ settings: inout SettingsReader) -> [String: ProductMap.Product] {
        var products: [String: ProductMap.Product] = [:]
        for name in settings.names(in: "products") {
            products[name] = settings.within("products", name) { read(&$0) }
        }
        return products
    }

    private static func read(_ settings: inout SettingsReader) -> ProductMap.Product {
        let level = settings.optionalInteger(
            "level", in: 1...1000, "Level of service in the group, 1 the highest, as in App Store Connect.")
        let duration = settings.optionalDuration(
            "duration", in: .seconds(1) ... .seconds(3660 * 86_400),
            "How long a non-renewing subscription lasts from its purchase.")
        let entitlements = settings.strings("entitlements", "What the product gives; [] for one that gives nothing.")
        for id in entitlements where !id.isName(upTo: 128) {
            settings.complain(
                about: "entitlements", "“\(id.printable(limit: 80))”: an entitlement has 1 to 128 bytes, all printable")
        }
        return ProductMap.Product(
            entitlements: Set(entitlements),
            group: settings.optionalString("group", "Subscription group; levels compare within one."),
            level: level.map(Int.init), duration: duration)
    }
}

extension String {
    /// Whether it will do as an id: it goes into answers, logs and terminals.
    fileprivate func isName(upTo bytes: Int) -> Bool {
        1...bytes ~= utf8.count && unicodeScalars.allSatisfy(\.isPrintable)
    }
}
