/// What Apple asks after CONSUMPTION_REQUEST, version 2.
package struct ConsumptionRequest: Sendable, Hashable {
    package enum DeliveryStatus: String, Sendable, CaseIterable {
        case delivered = "DELIVERED"
        case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
        case wrongItem = "UNDELIVERED_WRONG_ITEM"
        case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
        case other = "UNDELIVERED_OTHER"
    }

    package enum RefundPreference: String, Sendable, CaseIterable {
        case decline = "DECLINE"
        case grantFull = "GRANT_FULL"
        case grantProrated = "GRANT_PRORATED"
    }

    package var customerConsented: Bool
    package var sampleContentProvided: Bool
    package var deliveryStatus: DeliveryStatus
    /// In thousandths of a percent: 50000 is 50 %.
    package var consumptionPercentage: Int?
    package var refundPreference: RefundPreference?

    package init(
        customerConsented: Bool, sampleContentProvided: Bool, deliveryStatus: DeliveryStatus,
        consumptionPercentage: Int? = nil, refundPreference: RefundPreference? = nil
    ) {
        self.customerConsented = customerConsented
        self.sampleContentProvided = sampleContentProvided
        self.deliveryStatus = deliveryStatus
        self.consumptionPercentage = consumptionPercentage
        self.refundPreference = refundPreference
    }

    var values: [ServerAPIRequest.Value] {
        var values: [ServerAPIRequest.Value] = []
        values.add("customerConsented", customerConsented)
        values.add("sampleContentProvided", sampleContentProvided)
        values.add("deliveryStatus", deliveryStatus.rawValue)
        values.add("consumptionPercentage", consumptionPercentage)
        values.add("refundPreference", refundPreference?.rawValue)
        return values
    }
}

/// The same, version 1: numbers instead of words. What is left out is undeclared.
package struct ConsumptionRequestV1: Sendable, Hashable {
    package enum AccountTenure: Int, Sendable, CaseIterable {
        case undeclared, upTo3Days, upTo10Days, upTo30Days, upTo90Days, upTo180Days, upTo365Days, longer
    }
    package enum ConsumptionStatus: Int, Sendable, CaseIterable { case undeclared, not, partially, fully }
    package enum DeliveryStatus: Int, Sendable, CaseIterable {
        case delivered, qualityIssue, wrongItem, serverOutage, currencyChange, other
    }
    package enum LifetimeDollars: Int, Sendable, CaseIterable {
        case undeclared, none, under50, under100, under500, under1000, under2000, over2000
    }
    package enum Platform: Int, Sendable, CaseIterable { case undeclared, apple, nonApple }
    package enum PlayTime: Int, Sendable, CaseIterable {
        case undeclared, upTo5Minutes, upTo1Hour, upTo6Hours, upTo24Hours, upTo4Days, upTo16Days, longer
    }
    package enum RefundPreference: Int, Sendable, CaseIterable { case undeclared, grant, decline, none }
    package enum UserStatus: Int, Sendable, CaseIterable { case undeclared, active, suspended, terminated, limited }

    package var customerConsented: Bool
    /// Sent as `""` when there is none: Apple refuses null.
    package var appAccountToken: String?
    package var sampleContentProvided: Bool?
    package var accountTenure: AccountTenure?
    package var consumptionStatus: ConsumptionStatus?
    package var deliveryStatus: DeliveryStatus?
    package var lifetimeDollarsPurchased: LifetimeDollars?
    package var lifetimeDollarsRefunded: LifetimeDollars?
    package var platform: Platform?
    package var playTime: PlayTime?
    package var refundPreference: RefundPreference?
    package var userStatus: UserStatus?

    package init(customerConsented: Bool, appAccountToken: String? = nil) {
        self.customerConsented = customerConsented
        self.appAccountToken = appAccountToken
    }

    var values: [ServerAPIRequest.Value] {
        var values: [ServerAPIRequest.Value] = []
        values.add("customerConsented", customerConsented)
        values.add("appAccountToken", appAccountToken ?? "")
        values.add("sampleContentProvided", sampleContentProvided)
        values.add("accountTenure", accountTenure?.rawValue)
        values.add("consumptionStatus", consumptionStatus?.rawValue)
        values.add("deliveryStatus", deliveryStatus?.rawValue)
        values.add("lifetimeDollarsPurchased", lifetimeDollarsPurchased?.rawValue)
        values.add("lifetimeDollarsRefunded", lifetimeDollarsRefunded?.rawValue)
        values.add("platform", platform?.rawValue)
        values.add("playTime", playTime?.rawValue)
        values.add("refundPreference", refundPreference?.rawValue)
        values.add("userStatus", userStatus?.rawValue)
        return values
    }
}

extension [ServerAPIRequest.Value] {
    mutating func add(_ name: String, _ value: String?) {
        if let value { append(ServerAPIRequest.Value(name, value)) }
    }
    mutating func add(_ name: String, _ value: Bool?) { add(name, value.map { $0 ? "true" : "false" }) }
    mutating func add(_ name: String, _ value: (some BinaryInteger)?) { add(name, value.map { String($0) }) }
}
