internal import JSON
package import Time

/// `data`: a notification about one transaction or subscription.
package struct NotificationData: Sendable, Hashable {
    package var bundleVersion: String?
    package var signedTransactionInfo: String?
    package var signedRenewalInfo: String?
    /// 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.
    package var status: Int64?
    package var consumptionRequestReason: String?
}

/// `summary`: how a mass extension of renewal dates went.
package struct NotificationSummary: Sendable, Hashable {
    package var productID: String?
    package var requestIdentifier: String?
    package var storefrontCountryCodes: [String] = []
    package var succeededCount: Int64?
    package var failedCount: Int64?
}

/// `externalPurchaseToken`: a purchase outside the App Store waits to be reported.
package struct ExternalPurchaseToken: Sendable, Hashable {
    package var externalPurchaseID: String?
    package var tokenCreationDate: Timestamp?
    package var tokenExpirationDate: Timestamp?
    package var tokenType: String?
}

/// `appData`: a notification about the app itself, such as RESCIND_CONSENT.
package struct NotificationAppData: Sendable, Hashable {
    package var signedAppTransactionInfo: String?
}

/// Collects the objects of a notification; Apple's documentation says that there is one.
struct Bodies {
    typealias Origin = NotificationPayload.Origin
    private var known: [(rank: Int, body: NotificationPayload.Body, origin: Origin)] = []

    var count: Int { known.count }

    /// The first in Apple's order, a known one before an unknown one.
    var chosen: (NotificationPayload.Body, Origin)? {
        known.min { $0.rank < $1.rank }.map { ($0.body, $0.origin) }
    }

    mutating func read(_ key: JSONKey, _ reader: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        var origin = Origin()
        switch key {
        case "data":
            var data = NotificationData()
            guard
                try fields.object(
                    &reader, key,
                    { (fields, reader, key) throws(JSONError) in
                        switch key {
                        case "bundleVersion": data.bundleVersion = try fields.string(&reader, key)
                        case "signedTransactionInfo": data.signedTransactionInfo = try fields.string(&reader, key)
                        case "signedRenewalInfo": data.signedRenewalInfo = try fields.string(&reader, key)
                        case "status": data.status = try fields.integer(&reader, key)
                        case "consumptionRequestReason": data.consumptionRequestReason = try fields.string(&reader, key)
                        default: try Self.readOrigin(&origin, key, &reader, &fields)
                        }
                    })
            else { return }
            known.append((0, .data(data), origin))
        case "summary":
            var summary = NotificationSummary()
            guard
                try fields.object(
                    &reader, key,
                    { (fields, reader, key) throws(JSONError) in
                        switch key {
                        case "productId": summary.productID = try fields.string(&reader, key)
                        case "requestIdentifier": summary.requestIdentifier = try fields.string(&reader, key)
                        case "storefrontCountryCodes":
                            summary.storefrontCountryCodes = try fields.strings(&reader, key)
                        case "succeededCount": summary.succeededCount = try fields.integer(&reader, key)
                        case "failedCount": summary.failedCount = try fields.integer(&reader, key)
                        default: try Self.readOrigin(&origin, key, &reader, &fields)
                        }
                    })
            else { return }
            known.append((1, .summary(summary), origin))
        case "externalPurchaseToken":
            var token = ExternalPurchaseToken()
            guard
                try fields.object(
                    &reader, key,
                    { (fields, reader, key) throws(JSONError) in
                        switch key {
                        case "externalPurchaseId": token.externalPurchaseID = try fields.string(&reader, key)
                        case "tokenCreationDate": token.tokenCreationDate = try fields.date(&reader, key)
                        case "tokenExpirationDate": token.tokenExpirationDate = try fields.date(&reader, key)
                        case "tokenType": token.tokenType = try fields.string(&reader, key)
                        default: try Self.readOrigin(&origin, key, &reader, &fields)
                        }
                    })
            else { return }
            // It names no environment; its id says whether it is the sandbox's.
            if origin.environment == nil, let id = token.externalPurchaseID {
                origin.environment = id.hasPrefix("SANDBOX") ? "Sandbox" : "Production"
            }
            known.append((2, .externalPurchaseToken(token), origin))
        case "appData":
            var data = NotificationAppData()
            guard
                try fields.object(
                    &reader, key,
                    { (fields, reader, key) throws(JSONError) in
                        switch key {
                        case "signedAppTransactionInfo":
                            data.signedAppTransactionInfo = try fields.string(&reader, key)
                        default: try Self.readOrigin(&origin, key, &reader, &fields)
                        }
                    })
            else { return }
            known.append((3, .appData(data), origin))
        default:
            guard try reader.peek() == .object else { return try reader.skip() }
            _ = try fields.object(&reader, key) { (fields, reader, key) throws(JSONError) in
                try Self.readOrigin(&origin, key, &reader, &fields)
            }
            known.append(key == "unclaimInfo" ? (4, .unclaimInfo, origin) : (5, .unknown(key.description), origin))
        }
    }

    private static func readOrigin(
        _ origin: inout Origin, _ key: JSONKey, _ reader: inout JSONReader, _ fields: inout FieldReader
    ) throws(JSONError) {
        switch key {
        case "bundleId": origin.bundleID = try fields.string(&reader, key)
        case "appAppleId": origin.appAppleID = try fields.integer(&reader, key)
        case "environment": origin.environment = try fields.string(&reader, key)
        default: try reader.skip()
        }
    }
}
