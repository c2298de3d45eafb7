internal import JSON
package import Time

/// Apple's ResponseBodyV2DecodedPayload.
package struct NotificationPayload: SignedPayload, Hashable {
    package static var kind: PayloadKind { .notification }

    /// The one object that a notification is about, in the order in which they count should there be several.
    package enum Body: Sendable, Hashable {
        case data(NotificationData)
        case summary(NotificationSummary)
        case externalPurchaseToken(ExternalPurchaseToken)
        case appData(NotificationAppData)
        case unclaimInfo(UnclaimInfo)
        /// An object of a version to come, by its name; its content is in the signed bytes.
        case unknown(String)
        case none

        fileprivate var rank: Int {
            switch self {
            case .data: 0
            case .summary: 1
            case .externalPurchaseToken: 2
            case .appData: 3
            case .unclaimInfo: 4
            case .unknown: 5
            case .none: 6
            }
        }
    }

    package var notificationType: Raw<NotificationType>?
    package var subtype: Raw<NotificationSubtype>?
    package var notificationUUID: String?
    package var version: String?
    package var signedDate: Timestamp?
    package private(set) var body: Body = .none
    package internal(set) var warnings: [PayloadWarning] = []

    private var bodyCount = 0
    private var bodyOrigin = PayloadOrigin()
    /// A version to come may keep it beside its object instead of in it.
    private var ownOrigin = PayloadOrigin()

    package var isOfItsKind: Bool { notificationType != nil }
    package var dateOfSigning: Timestamp? { signedDate }
    package var origin: PayloadOrigin {
        PayloadOrigin(
            bundleID: bodyOrigin.bundleID ?? ownOrigin.bundleID,
            appAppleID: bodyOrigin.appAppleID ?? ownOrigin.appAppleID,
            environment: bodyOrigin.environment ?? ownOrigin.environment)
    }

    package static let decisive: Set = [
        "signedDate", "data", "data.signedTransactionInfo", "data.signedRenewalInfo", "data.status", "data.environment",
        "data.bundleId", "data.appAppleId",
    ]
    package var missing: [String] {
        var missing = Self.missing(["signedDate": signedDate != nil])
        if case .data(let data) = body, NotificationTable.row(of: self).isAboutPurchase,
            data.signedTransactionInfo == nil, data.signedRenewalInfo == nil
        {
            missing.append("data.signedTransactionInfo")
        }
        return missing
    }

    package init(json: [UInt8]) throws(PayloadError) {
        (self, warnings) = try FieldReader.read(json)
        if bodyCount > 1 {
            warnings.append(
                PayloadWarning(field: "objects", problem: "are several, where one is expected"))
        }
    }

    package static func fields(of json: [UInt8]) throws(PayloadError) -> [PayloadField] {
        try FieldReader.fields(of: json, as: Self.self)
    }

    private mutating func take(_ other: Body, _ origin: PayloadOrigin) {
        bodyCount &+= 1
        guard other.rank < body.rank else { return }
        body = other
        bodyOrigin = origin
    }
}

extension NotificationPayload: PayloadObject {
    enum Member: String, CaseIterable {
        case notificationType, subtype, notificationUUID, version, signedDate
        case environment, appAppleId, bundleId
        case data, summary, externalPurchaseToken, appData, unclaimInfo
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .notificationType: notificationType = try fields.value(&json)
        case .subtype: subtype = try fields.value(&json)
        case .notificationUUID: notificationUUID = try fields.string(&json)
        case .version: version = try fields.string(&json)
        case .signedDate: signedDate = try fields.date(&json)
        case .environment: ownOrigin.environment = try fields.value(&json)
        case .appAppleId: ownOrigin.appAppleID = try fields.integer(&json)
        case .bundleId: ownOrigin.bundleID = try fields.string(&json)
        case .data:
            if let it: NotificationData = try fields.object(&json) { take(.data(it), it.origin) }
        case .summary:
            if let it: NotificationSummary = try fields.object(&json) { take(.summary(it), it.origin) }
        case .externalPurchaseToken:
            if let it: ExternalPurchaseToken = try fields.object(&json) { take(.externalPurchaseToken(it), it.origin) }
        case .appData:
            if let it: NotificationAppData = try fields.object(&json) { take(.appData(it), it.origin) }
        case .unclaimInfo:
            if let it: UnclaimInfo = try fields.object(&json) { take(.unclaimInfo(it), it.origin) }
        }
    }

    mutating func readUnknown(_ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        guard try json.peek() == .object else { return try fields.skipUnknown(&json) }
        let name = fields.name
        if let it: UnknownBody = try fields.object(&json) { take(.unknown(name), it.origin) }
    }
}
