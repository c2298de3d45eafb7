internal import JSON
package import Time

/// Apple's DecodedRealtimeRequestBody: the App Store asks which retention message to show. It names no bundle.
package struct RealtimeRequestPayload: SignedPayload, Hashable {
    package static var kind: PayloadKind { .realtimeRequest }

    package var originalTransactionID: String?
    package var appAppleID: Int64?
    package var productID: String?
    package var userLocale: String?
    /// A UUID in lower case.
    package var requestIdentifier: String?
    package var environment: Raw<PayloadEnvironment>?
    package var signedDate: Timestamp?
    package internal(set) var warnings: [PayloadWarning] = []

    package var isOfItsKind: Bool { requestIdentifier != nil && userLocale != nil }
    package var dateOfSigning: Timestamp? { signedDate }
    package var origin: PayloadOrigin { PayloadOrigin(appAppleID: appAppleID, environment: environment) }

    package static var decisive: Set<String> { Set(Member.allCases.map(\.rawValue)) }
    package var missing: [String] {
        Self.missing([
            "originalTransactionId": originalTransactionID.isThere, "appAppleId": appAppleID != nil,
            "productId": productID.isThere, "userLocale": userLocale.isThere,
            "requestIdentifier": requestIdentifier.isThere, "signedDate": signedDate != nil,
        ])
    }

    package init(json: [UInt8]) throws(PayloadError) {
        (self, warnings) = try FieldReader.read(json)
    }

    package static func fields(of json: [UInt8]) throws(PayloadError) -> [PayloadField] {
        try FieldReader.fields(of: json, as: Self.self)
    }
}

extension RealtimeRequestPayload: PayloadObject {
    enum Member: String, CaseIterable {
        case originalTransactionId, appAppleId, productId, userLocale, requestIdentifier, environment, signedDate
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .originalTransactionId: originalTransactionID = try fields.string(&json)
        case .appAppleId: appAppleID = try fields.integer(&json)
        case .productId: productID = try fields.string(&json)
        case .userLocale: userLocale = try fields.string(&json)
        case .requestIdentifier: requestIdentifier = try fields.uuid(&json)
        case .environment: environment = try fields.value(&json)
        case .signedDate: signedDate = try fields.date(&json)
        }
    }
}
