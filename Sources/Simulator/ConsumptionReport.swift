internal import JSON
internal import Time

/// What a developer says of a purchase that somebody wants money back for, checked as Apple checks it.
package struct ConsumptionReport: Sendable, Hashable {
    let version: Int
    let receivedAt: Timestamp
    let body: JSONValue

    /// Send Consumption Information V1: every field is required but the refund preference; 0 says nothing.
    init(v1 body: JSONValue, about transaction: StoreTransaction, at time: Timestamp) throws(APIError) {
        switch transaction.product.kind {
        case .consumable, .autoRenewable: break
        case .nonConsumable, .nonRenewing: throw .unsupportedType
        }
        guard body["customerConsented"]?.bool == true else { throw .invalidCustomerConsented }
        for (name, range, error) in Self.numbers {
            guard let value = body[name]?.int64, range.contains(value) else { throw error }
        }
        if let preference = body["refundPreference"], !preference.isNull {
            guard let value = preference.int64, (0...3).contains(value) else { throw .invalidRefundPreference }
        }
        guard body["sampleContentProvided"]?.bool != nil else { throw .invalidSampleContent }
        guard let token = body["appAccountToken"]?.string, token.isEmpty || Store.isUUID(token.lowercased()) else {
            throw .invalidAppAccountToken
        }
        self.init(version: 1, receivedAt: time, body: body)
    }

    /// Send Consumption Information.
    init(v2 body: JSONValue, about transaction: StoreTransaction, at time: Timestamp) throws(APIError) {
        guard body["customerConsented"]?.bool == true else { throw .invalidCustomerConsented }
        guard body["sampleContentProvided"]?.bool != nil else { throw .invalidSampleContent }
        guard let status = body["deliveryStatus"]?.string, Self.deliveryStatuses.contains(status) else {
            throw .invalidDeliveryStatus
        }
        var percentage: Int64?
        if let given = body["consumptionPercentage"], !given.isNull {
            guard transaction.product.group == nil else { throw .percentageOfSubscription }
            guard let value = given.int64, (0...100_000).contains(value) else { throw .percentageOutOfRange }
            guard status == "DELIVERED" || value == 0 else { throw .percentageOfUndelivered }
            percentage = value
        }
        if let given = body["refundPreference"], !given.isNull {
            guard let preference = given.string, Self.refundPreferences.contains(preference) else {
                throw .invalidRefundPreference
            }
            // Part of the money is for what was used in part.
            if preference == "GRANT_PRORATED", transaction.product.group == nil {
                guard let percentage, (1..<100_000).contains(percentage) else { throw .percentageOutOfRange }
            }
        }
        self.init(version: 2, receivedAt: time, body: body)
    }

    private init(version: Int, receivedAt: Timestamp, body: JSONValue) {
        self.version = version
        self.receivedAt = receivedAt
        self.body = body
    }

    private static let numbers: [(String, ClosedRange<Int64>, APIError)] = [
        ("accountTenure", 0...7, .invalidAccountTenure), ("consumptionStatus", 0...3, .invalidConsumptionStatus),
        ("deliveryStatus", 0...5, .invalidDeliveryStatus),
        ("lifetimeDollarsPurchased", 0...7, .invalidDollarsPurchased),
        ("lifetimeDollarsRefunded", 0...7, .invalidDollarsRefunded), ("platform", 0...2, .invalidPlatform),
        ("playTime", 0...7, .invalidPlayTime), ("userStatus", 0...4, .invalidUserStatus),
    ]
    private static let deliveryStatuses: Set<String> = [
        "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
        "UNDELIVERED_OTHER",
    ]
    private static let refundPreferences: Set<String> = ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"]
}

extension ConsumptionReport {
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("version", version)
        json.member("received", receivedAt.rfc3339)
        json.member("body", body)
        json.endObject()
    }
}
