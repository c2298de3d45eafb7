internal import JSON
package import Time

/// Apple's AppTransaction: that a customer has the app itself. Its environment is called `receiptType`, its date of
/// signing `receiptCreationDate`.
package struct AppTransactionPayload: SignedPayload, Hashable {
    package static var kind: PayloadKind { .appTransaction }

    package var receiptType: Raw<PayloadEnvironment>?
    package var appAppleID: Int64?
    package var bundleID: String?
    package var appTransactionID: String?
    package var applicationVersion: String?
    package var versionExternalIdentifier: Int64?
    package var receiptCreationDate: Timestamp?
    package var originalPurchaseDate: Timestamp?
    package var originalApplicationVersion: String?
    package var originalPlatform: Raw<PurchasePlatform>?
    package var preorderDate: Timestamp?
    /// Base64 of a digest of the nonce and the device's identifier.
    package var deviceVerification: String?
    /// A UUID in lower case.
    package var deviceVerificationNonce: String?
    /// Xcode's only.
    package var requestDate: Timestamp?
    package internal(set) var warnings: [PayloadWarning] = []

    package var isOfItsKind: Bool { receiptType != nil }
    package var dateOfSigning: Timestamp? { receiptCreationDate }
    package var origin: PayloadOrigin {
        PayloadOrigin(bundleID: bundleID, appAppleID: appAppleID, environment: receiptType)
    }

    package static let decisive: Set = ["receiptType", "bundleId", "appAppleId", "receiptCreationDate"]
    package var missing: [String] { Self.missing(["receiptCreationDate": receiptCreationDate != nil]) }

    package init(json: [UInt8]) throws(PayloadError) {
        (self, warnings) = try FieldReader.read(json)
    }

    package static func fields(of json: [UInt8]) throws(PayloadError) -> [PayloadField] {
        try FieldReader.fields(of: json, as: Self.self)
    }
}

extension AppTransactionPayload: PayloadObject {
    enum Member: String, CaseIterable {
        case receiptType, appAppleId, bundleId, appTransactionId, applicationVersion, versionExternalIdentifier
        case receiptCreationDate, originalPurchaseDate, originalApplicationVersion, originalPlatform, preorderDate
        case deviceVerification, deviceVerificationNonce, requestDate
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .receiptType: receiptType = try fields.value(&json)
        case .appAppleId: appAppleID = try fields.integer(&json)
        case .bundleId: bundleID = try fields.string(&json)
        case .appTransactionId: appTransactionID = try fields.string(&json)
        case .applicationVersion: applicationVersion = try fields.string(&json)
        case .versionExternalIdentifier: versionExternalIdentifier = try fields.integer(&json)
        case .receiptCreationDate: receiptCreationDate = try fields.date(&json)
        case .originalPurchaseDate: originalPurchaseDate = try fields.date(&json)
        case .originalApplicationVersion: originalApplicationVersion = try fields.string(&json)
        case .originalPlatform: originalPlatform = try fields.value(&json)
        case .preorderDate: preorderDate = try fields.date(&json)
        case .deviceVerification: deviceVerification = try fields.string(&json)
        case .deviceVerificationNonce: deviceVerificationNonce = try fields.uuid(&json)
        case .requestDate: requestDate = try fields.date(&json)
        }
    }
}
