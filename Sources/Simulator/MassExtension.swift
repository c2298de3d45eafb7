internal import JSON
internal import Time

/// What the developer asks for when a renewal date is to be put off.
struct ExtensionRequest: Sendable, Hashable {
    let days: Int64
    let reason: Int64
    let identifier: String
}

/// A request to extend all subscribers of a product, and what has come of it.
package struct MassExtension: Sendable, Hashable {
    package struct Key: Sendable, Hashable {
        let productID: String
        /// A UUID, lower case.
        let requestIdentifier: String

        init(productID: String, requestIdentifier: String) {
            self.productID = productID
            self.requestIdentifier = requestIdentifier.lowercased()
        }
    }

    let key: Key
    let request: ExtensionRequest
    /// Nil means everywhere.
    let storefronts: [String]?
    var completedAt: Timestamp?
    var succeeded = 0
    var failed = 0
}

/// The `summary` of a RENEWAL_EXTENSION notification.
package struct ExtensionSummary: Sendable, Hashable {
    let key: MassExtension.Key
    let storefronts: [String]
    let succeeded: Int
    let failed: Int

    func write(to json: inout JSONWriter) {
        json.member("productId", key.productID)
        json.member("requestIdentifier", key.requestIdentifier)
        json.array("storefrontCountryCodes", storefronts) { $0.string($1) }
        json.member("succeededCount", succeeded)
        json.member("failedCount", failed)
    }
}
