internal import JSON
package import Time

/// `data`: a notification about one transaction or subscription.
package struct NotificationData: Sendable, Hashable, PayloadObject {
    package var bundleVersion: String?
    package var signedTransactionInfo: String?
    package var signedRenewalInfo: String?
    package var status: Raw<SubscriptionStatus>?
    package var consumptionRequestReason: Raw<ConsumptionRequestReason>?
    var origin = PayloadOrigin()

    enum Member: String, CaseIterable {
        case environment, appAppleId, bundleId
        case bundleVersion, signedTransactionInfo, signedRenewalInfo, status, consumptionRequestReason
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .environment: origin.environment = try fields.value(&json)
        case .appAppleId: origin.appAppleID = try fields.integer(&json)
        case .bundleId: origin.bundleID = try fields.string(&json)
        case .bundleVersion: bundleVersion = try fields.string(&json)
        case .signedTransactionInfo: signedTransactionInfo = try fields.string(&json)
        case .signedRenewalInfo: signedRenewalInfo = try fields.string(&json)
        case .status: status = try fields.value(&json)
        case .consumptionRequestReason: consumptionRequestReason = try fields.value(&json)
        }
    }
}

/// `summary`: how a mass extension of renewal dates went.
package struct NotificationSummary: Sendable, Hashable, PayloadObject {
    package var productID: String?
    package var requestIdentifier: String?
    package var storefrontCountryCodes: [String] = []
    package var succeededCount: Int64?
    package var failedCount: Int64?
    var origin = PayloadOrigin()

    enum Member: String, CaseIterable {
        case environment, appAppleId, bundleId
        case productId, requestIdentifier, storefrontCountryCodes, succeededCount, failedCount
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .environment: origin.environment = try fields.value(&json)
        case .appAppleId: origin.appAppleID = try fields.integer(&json)
        case .bundleId: origin.bundleID = try fields.string(&json)
        case .productId: productID = try fields.string(&json)
        case .requestIdentifier: requestIdentifier = try fields.string(&json)
        case .storefrontCountryCodes: storefrontCountryCodes = try fields.strings(&json)
        case .succeededCount: succeededCount = try fields.integer(&json)
        case .failedCount: failedCount = try fields.integer(&json)
        }
    }
}

/// `externalPurchaseToken`: a purchase outside the App Store waits to be reported.
package struct ExternalPurchaseToken: Sendable, Hashable, PayloadObject {
    package var externalPurchaseID: String?
    package var tokenCreationDate: Timestamp?
    package var tokenExpirationDate: Timestamp?
    package var tokenType: Raw<ExternalPurchaseTokenType>?
    private var named = PayloadOrigin()

    /// It names no environment; its id says whether it is the sandbox's.
    var origin: PayloadOrigin {
        var origin = named
        if origin.environment == nil, let externalPurchaseID {
            origin.environment = Raw(externalPurchaseID.hasPrefix("SANDBOX") ? .sandbox : .production)
        }
        return origin
    }

    enum Member: String, CaseIterable {
        case environment, appAppleId, bundleId
        case externalPurchaseId, tokenCreationDate, tokenExpirationDate, tokenType
    }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .environment: named.environment = try fields.value(&json)
        case .appAppleId: named.appAppleID = try fields.integer(&json)
        case .bundleId: named.bundleID = try fields.string(&json)
        case .externalPurchaseId: externalPurchaseID = try fields.string(&json)
        case .tokenCreationDate: tokenCreationDate = try fields.date(&json)
        case .tokenExpirationDate: tokenExpirationDate = try fields.date(&json)
        case .tokenType: tokenType = try fields.value(&json)
        }
    }
}

/// `appData`: a notification about the app itself, such as RESCIND_CONSENT.
package struct NotificationAppData: Sendable, Hashable, PayloadObject {
    package var signedAppTransactionInfo: String?
    var origin = PayloadOrigin()

    enum Member: String, CaseIterable { case environment, appAppleId, bundleId, signedAppTransactionInfo }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .environment: origin.environment = try fields.value(&json)
        case .appAppleId: origin.appAppleID = try fields.integer(&json)
        case .bundleId: origin.bundleID = try fields.string(&json)
        case .signedAppTransactionInfo: signedAppTransactionInfo = try fields.string(&json)
        }
    }
}

/// `unclaimInfo`: seats of a purchase were given back.
package struct UnclaimInfo: Sendable, Hashable, PayloadObject {
    /// UUIDs in lower case.
    package var unclaimSeatIDs: [String] = []
    var origin = PayloadOrigin()

    enum Member: String, CaseIterable { case environment, appAppleId, bundleId, unclaimSeatIds }

    static let names = NameTable<Member>()

    init() {}

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .environment: origin.environment = try fields.value(&json)
        case .appAppleId: origin.appAppleID = try fields.integer(&json)
        case .bundleId: origin.bundleID = try fields.string(&json)
        case .unclaimSeatIds: unclaimSeatIDs = try fields.uuids(&json)
        }
    }
}

/// An object of a version to come: only whose it is can be looked for.
struct UnknownBody: PayloadObject {
    var origin = PayloadOrigin()

    enum Member: String, CaseIterable { case environment, appAppleId, bundleId }

    static let names = NameTable<Member>()

    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        switch member {
        case .environment: origin.environment = try fields.value(&json)
        case .appAppleId: origin.appAppleID = try fields.integer(&json)
        case .bundleId: origin.bundleID = try fields.string(&json)
        }
    }
}
