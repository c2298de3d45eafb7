internal import JSON
package import Time

/// Apple's ResponseBodyV2DecodedPayload; types and subtypes stay raw, so that new ones survive.
package struct NotificationPayload: SignedPayload, Hashable {
    package static var kind: PayloadKind { .notification }

    /// The one object a notification is about.
    package enum Body: Sendable, Hashable {
        case data(NotificationData)
        case summary(NotificationSummary)
        case externalPurchaseToken(ExternalPurchaseToken)
        case appData(NotificationAppData)
        /// Seats given back (`unclaimInfo`).
        case unclaimInfo
        /// An object of a later version, by its name.
        case unknown(String)
        case none
    }

    /// Which app and environment the body names, wherever its shape keeps that.
    package struct Origin: Sendable, Hashable {
        package var bundleID: String?
        package var appAppleID: Int64?
        package var environment: String?
    }

    package var notificationType: String?
    package var subtype: String?
    package var notificationUUID: String?
    package var version: String?
    package var signedDate: Timestamp?
    package var body: Body = .none
    package var origin = Origin()
    package private(set) var warnings: [PayloadWarning] = []

    package var isOfItsKind: Bool { notificationType != nil }
    package var dateOfSigning: Timestamp? { signedDate }

    package init(json: [UInt8]) throws(PayloadError) {
        var it = NotificationPayload()
        var bodies = Bodies()
        it.warnings = try FieldReader.read(json) { (fields, reader, key) throws(JSONError) in
            switch key {
            case "notificationType": it.notificationType = try fields.string(&reader, key)
            case "subtype": it.subtype = try fields.string(&reader, key)
            case "notificationUUID": it.notificationUUID = try fields.string(&reader, key)
            case "version": it.version = try fields.string(&reader, key)
            case "signedDate": it.signedDate = try fields.date(&reader, key)
            // A later version may keep these beside its object instead of in it.
            case "bundleId": it.origin.bundleID = try fields.string(&reader, key)
            case "appAppleId": it.origin.appAppleID = try fields.integer(&reader, key)
            case "environment": it.origin.environment = try fields.string(&reader, key)
            default: try bodies.read(key, &reader, &fields)
            }
        }
        if let (body, origin) = bodies.chosen {
            it.body = body
            if origin.bundleID != nil { it.origin.bundleID = origin.bundleID }
            if origin.appAppleID != nil { it.origin.appAppleID = origin.appAppleID }
            if origin.environment != nil { it.origin.environment = origin.environment }
        }
        if bodies.count > 1 {
            it.warnings.append(PayloadWarning(field: "objects", problem: "are several, where one is expected"))
        }
        self = it
    }

    private init() {}
}
