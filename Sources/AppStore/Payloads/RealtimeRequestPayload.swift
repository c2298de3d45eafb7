internal import JSON
package import Time

/// Apple's DecodedRealtimeRequestBody: the App Store asks which retention message to show. It names no bundle.
package struct RealtimeRequestPayload: SignedPayload, Hashable {
    package static var kind: PayloadKind { .realtimeRequest }

    package var originalTransactionID: String?
    package var appAppleID: Int64?
    package var productID: String?
    package var userLocale: String?
    package var requestIdentifier: String?
    package var environment: String?
    package var signedDate: Timestamp?
    package private(set) var warnings: [PayloadWarning] = []

    package var isOfItsKind: Bool { requestIdentifier != nil && userLocale != nil }
    package var dateOfSigning: Timestamp? { signedDate }

    package init(json: [UInt8]) throws(PayloadError) {
        var it = RealtimeRequestPayload()
        it.warnings = try FieldReader.read(json) { (fields, reader, key) throws(JSONError) in
            switch key {
            case "originalTransactionId": it.originalTransactionID = try fields.string(&reader, key)
            case "appAppleId": it.appAppleID = try fields.integer(&reader, key)
            case "productId": it.productID = try fields.string(&reader, key)
            case "userLocale": it.userLocale = try fields.string(&reader, key)
            case "requestIdentifier": it.requestIdentifier = try fields.uuid(&reader, key)
            case "environment": it.environment = try fields.string(&reader, key)
            case "signedDate": it.signedDate = try fields.date(&reader, key)
            default: try reader.skip()
            }
        }
        self = it
    }

    private init() {}
}
