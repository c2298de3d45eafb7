package import Time

/// News that changes nothing in the store.
extension Store {
    /// A parent takes back the consent that a child may use the app.
    package mutating func rescindConsent(of token: String, at time: Timestamp) throws(StoreError) -> [StoreEvent] {
        let account = try account(token)
        return [announce("RESCIND_CONSENT", nil, .appData(appTransaction(of: account)), of: account.token, at: time)]
    }

    /// Apple tells of, or reminds of, the token of a purchase outside the App Store.
    package mutating func externalPurchaseToken(
        _ subtype: String = "UNREPORTED", type: ExternalPurchaseToken.TokenType? = nil, at time: Timestamp
    ) -> StoreEvent {
        let id = (settings.environment == .sandbox ? "SANDBOX_" : "") + random.uuid()
        let token = ExternalPurchaseToken(
            id: id, createdAt: time, type: type,
            expiresAt: type.map { _ in time + settings.compressed(.seconds(365 * 86_400)) })
        return announce("EXTERNAL_PURCHASE_TOKEN", subtype, .externalPurchaseToken(token), at: time)
    }

    /// A notification of any type about the transaction that `reference` names, or the newest one.
    mutating func notifyAnything(
        _ type: String, _ subtype: String?, about reference: String?, of token: String, object: String?,
        at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        for (field, text) in [("type", type), ("subtype", subtype ?? "A")] where !Self.isTypeName(text) {
            throw StoreError(.notEligible, field, "capital letters, digits and _ only")
        }
        if let object {
            guard object.utf8.count <= 64, object.utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) }),
                !Self.knownObjects.contains(object)
            else { throw StoreError(.notEligible, "object", "letters only, and none that Apple has already") }
            return [announce(type, subtype, .unknown(object), of: try account(token).token, at: time)]
        }
        guard let transaction = transactions[try refundable(of: token, reference, at: time)] else { return [] }
        return [notify(type, subtype, transaction, at: time)]
    }

    func appTransaction(of account: Account) -> AppTransaction {
        AppTransaction(id: account.appTransactionID, purchaseDate: account.createdAt)
    }

    private static let knownObjects: Set<String> = [
        "notificationType", "subtype", "notificationUUID", "version", "signedDate", "data", "summary",
        "externalPurchaseToken", "appData", "unclaimInfo",
    ]

    private static func isTypeName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64
            && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }
}
