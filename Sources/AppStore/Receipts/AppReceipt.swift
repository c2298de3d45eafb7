internal import CCrypto
package import Time

/// What an app receipt says. Whether anybody vouches for it is another matter: see `ReceiptVerifier`.
///
/// Types are those of Apple's "Receipt Fields". What Apple does not document there but has long written is marked *seen*.
package struct AppReceipt: Sendable, Hashable {
    /// Type 0, seen: `Production`, `ProductionSandbox`, `ProductionVPP`, `ProductionVPPSandbox`, `Xcode`.
    package let receiptType: String?
    /// Type 2.
    package let bundleID: String?
    /// Type 3: CFBundleVersion (iOS) or CFBundleShortVersionString (macOS).
    package let applicationVersion: String?
    /// Type 4.
    package let opaqueValue: [UInt8]
    /// Type 5: SHA-1 over device id, opaque value and bundle id.
    package let deviceHash: [UInt8]
    /// Type 12: when Apple signed it.
    package let creationDate: Timestamp?
    /// Type 17, in the order of the receipt.
    package let purchases: [ReceiptPurchase]
    /// Type 18, seen.
    package let originalPurchaseDate: Timestamp?
    /// Type 19.
    package let originalApplicationVersion: String?
    /// Type 21: for apps of the Volume Purchase Program.
    package let expirationDate: Timestamp?
    /// All other attributes, raw.
    package let others: [ReceiptAttribute]
    /// What could not be read, and is missing above.
    package let warnings: [String]

    private let bundleIDBytes: [UInt8]

    private static let known: Set<Int64> = [0, 2, 3, 4, 5, 12, 17, 18, 19, 21]

    /// Nil if `payload` is not a set of attributes.
    init?(payload: [UInt8]) {
        guard var attributes = ReceiptAttributes(payload[...], unwrapping: true) else { return nil }
        receiptType = attributes.text(0)
        bundleID = attributes.text(2)
        bundleIDBytes = attributes.bytes(2) ?? []
        applicationVersion = attributes.text(3)
        opaqueValue = attributes.bytes(4) ?? []
        deviceHash = attributes.bytes(5) ?? []
        creationDate = attributes.date(12)
        originalPurchaseDate = attributes.date(18)
        originalApplicationVersion = attributes.text(19)
        expirationDate = attributes.date(21)
        others = attributes.others(than: Self.known)
        var purchases: [ReceiptPurchase] = []
        var warnings = attributes.warnings
        var left = ReceiptAttributes.limit
        for attribute in attributes.all where attribute.type == 17 {
            guard let inner = ReceiptAttributes(attribute.value[...], limit: left) else { return nil }
            left &-= inner.all.count
            let purchase = ReceiptPurchase(inner)
            warnings += purchase.warnings.map { "purchase \(purchases.count + 1): \($0)" }
            purchases.append(purchase)
        }
        self.purchases = purchases
        self.warnings = warnings
    }

    /// A transaction id to ask the App Store Server API about the customer with: of the first purchase that has one.
    package var transactionID: String? {
        for purchase in purchases {
            if let id = purchase.transactionID ?? purchase.originalTransactionID { return id }
        }
        return nil
    }

    /// Whether Xcode's StoreKit testing made it: nothing that Apple signed says so.
    package var isXcodes: Bool { receiptType == "Xcode" || receiptType == "LocalTesting" || transactionID == "0" }

    /// Whether the receipt was made for the device whose identifier (a vendor's UUID of 16 bytes, on macOS a MAC
    /// address of six) is given.
    package func isForDevice(_ identifier: [UInt8]) -> Bool {
        let bytes = identifier + opaqueValue + bundleIDBytes
        var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        _ = unsafe SHA1(bytes, bytes.count, &digest)
        return deviceHash == digest
    }
}

/// One purchase in an app receipt.
package struct ReceiptPurchase: Sendable, Hashable {
    /// Type 1701.
    package let quantity: Int64?
    /// Type 1702.
    package let productID: String?
    /// Type 1703.
    package let transactionID: String?
    /// Type 1704.
    package let purchaseDate: Timestamp?
    /// Type 1705.
    package let originalTransactionID: String?
    /// Type 1706.
    package let originalPurchaseDate: Timestamp?
    /// Type 1708: when the subscription's period ends.
    package let expiresDate: Timestamp?
    /// Type 1711.
    package let webOrderLineItemID: Int64?
    /// Type 1712: when Apple's customer support cancelled it.
    package let cancellationDate: Timestamp?
    /// Type 1713, seen.
    package let isTrialPeriod: Bool?
    /// Type 1719.
    package let isIntroductoryPeriod: Bool?
    /// Type 1721, seen.
    package let promotionalOfferID: String?
    /// All other attributes, raw.
    package let others: [ReceiptAttribute]
    let warnings: [String]

    private static let known: Set<Int64> = [
        1701, 1702, 1703, 1704, 1705, 1706, 1708, 1711, 1712, 1713, 1719, 1721,
    ]

    init(_ source: ReceiptAttributes) {
        var attributes = source
        quantity = attributes.integer(1701)
        productID = attributes.text(1702)
        transactionID = attributes.text(1703)
        purchaseDate = attributes.date(1704)
        originalTransactionID = attributes.text(1705)
        originalPurchaseDate = attributes.date(1706)
        expiresDate = attributes.date(1708)
        webOrderLineItemID = attributes.integer(1711)
        cancellationDate = attributes.date(1712)
        isTrialPeriod = attributes.integer(1713).map { $0 != 0 }
        isIntroductoryPeriod = attributes.integer(1719).map { $0 != 0 }
        promotionalOfferID = attributes.text(1721)
        others = attributes.others(than: Self.known)
        warnings = attributes.warnings
    }
}
