internal import JSON
internal import Time

/// A customer's purchase of the app itself.
package struct AppTransaction: Sendable, Hashable {
    let id: String
    let purchaseDate: Timestamp

    /// JWSAppTransactionDecodedPayload: its environment is called `receiptType`, and its signed date
    /// `receiptCreationDate`.
    func payload(signedAt time: Timestamp, in settings: StoreSettings) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 512)
        json.beginObject()
        json.member("receiptType", settings.environment.rawValue)
        if settings.environment == .production { json.member("appAppleId", settings.appAppleID) }
        json.member("bundleId", settings.bundleID)
        json.member("applicationVersion", settings.bundleVersion)
        if settings.environment == .production { json.member("versionExternalIdentifier", 1) }
        json.member("receiptCreationDate", time.milliseconds)
        json.member("originalPurchaseDate", purchaseDate.milliseconds)
        json.member("originalApplicationVersion", settings.bundleVersion)
        json.member("appTransactionId", id)
        json.member("originalPlatform", "iOS")
        json.endObject()
        return json.bytes
    }
}
