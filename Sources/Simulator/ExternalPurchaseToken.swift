internal import JSON
internal import Time

/// The token of a purchase that was made outside the App Store.
package struct ExternalPurchaseToken: Sendable, Hashable {
    package enum TokenType: String, Sendable, CaseIterable {
        case acquisition = "ACQUISITION"
        case services = "SERVICES"
    }

    /// Begins with SANDBOX in the sandbox: nothing else names the environment.
    let id: String
    let createdAt: Timestamp
    var type: TokenType?
    var expiresAt: Timestamp?

    func write(to json: inout JSONWriter, in settings: StoreSettings) {
        json.member("externalPurchaseId", id)
        json.member("tokenCreationDate", createdAt.milliseconds)
        if let type { json.member("tokenType", type.rawValue) }
        if let expiresAt { json.member("tokenExpirationDate", expiresAt.milliseconds) }
        json.member("appAppleId", settings.appAppleID)
        json.member("bundleId", settings.bundleID)
    }
}
