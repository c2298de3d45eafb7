internal import JSON
package import Time

/// Apple's AppTransaction: that a customer has the app itself. Its environment is called `receiptType`.
package struct AppTransactionPayload: SignedPayload, Hashable {
    package static var kind: PayloadKind { .appTransaction }

    package var receiptType: String?
    package var appAppleID: Int64?
    package var bundleID: String?
    package var applicationVersion: String?
    package var versionExternalIdentifier: Int64?
    package var receiptCreationDate: Timestamp?
    package var originalPurchaseDate: Timestamp?
    package var originalApplicationVersion: String?
    package var deviceVerification: String?
    package var deviceVerificationNonce: String?
    package var preorderDate: Timestamp?
    package var appTransactionID: String?
    package var originalPlatform: String?
    package private(set) var warnings: [PayloadWarning] = []

    package var isOfItsKind: Bool { receiptType != nil }
    package var dateOfSigning: Timestamp? { receiptCreationDate }

    package init(json: [UInt8]) throws(PayloadError) {
        var it = AppTransactionPayload()
        it.warnings = try FieldReader.read(json) { (fields, reader, key) throws(JSONError) in
            switch key {
            case "receiptType": it.receiptType = try fields.string(&reader, key)
            case "appAppleId": it.appAppleID = try fields.integer(&reader, key)
            case "bundleId": it.bundleID = try fields.string(&reader, key)
            case "applicationVersion": it.applicationVersion = try fields.string(&reader, key)
            case "versionExternalIdentifier": it.versionExternalIdentifier = try fields.integer(&reader, key)
            case "receiptCreationDate": it.receiptCreationDate = try fields.date(&reader, key)
            case "originalPurchaseDate": it.originalPurchaseDate = try fields.date(&reader, key)
            case "originalApplicationVersion": it.originalApplicationVersion = try fields.string(&reader, key)
            case "deviceVerification": it.deviceVerification = try fields.string(&reader, key)
            case "deviceVerificationNonce": it.deviceVerificationNonce = try fields.uuid(&reader, key)
            case "preorderDate": it.preorderDate = try fields.date(&reader, key)
            case "appTransactionId": it.appTransactionID = try fields.string(&reader, key)
            case "originalPlatform": it.originalPlatform = try fields.string(&reader, key)
            default: try reader.skip()
            }
        }
        self = it
    }

    private init() {}
}
