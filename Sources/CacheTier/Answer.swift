package import Entitlements
package import JSON
package import Time

/// What a customer has, and how good the answer is (invariant 8).
package struct Answer: Sendable {
    package enum Source: String, Sendable { case memory, redis, embedded, snapshot }

    package let key: CustomerKey
    /// Counts the changes of the customer's lineages; 0 for a customer nobody knows.
    package let revision: UInt64
    package let level: ServiceLevel
    package let reason: ServiceReason
    package let source: Source
    /// When the answer was last known to be what the store has.
    package let asOf: Timestamp
    package let evaluation: CustomerEvaluation
    /// `entitlements` and `subscriptions`, rendered once for as long as the evaluation holds.
    package let fragment: [UInt8]
    /// What came of asking Apple for it; nil when nobody wanted that.
    package var refresh: RefreshNote?

    package var app: AppID { key.app }
    package var customer: String { key.customer }
    package var environment: StoreEnvironment { key.environment }

    /// The answer as backends get it.
    package func json(serverTime: Timestamp) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 512 + fragment.count)
        json.beginObject()
        writeHead(to: &json, serverTime: serverTime)
        json.fragment(fragment)
        json.endObject()
        return json.bytes
    }

    /// Whom it is about and how good it is, for an object that the caller has begun.
    package func writeHead(to json: inout JSONWriter, serverTime: Timestamp) {
        json.member("app", app.rawValue)
        json.member("customer", customer)
        json.member("environment", environment.rawValue)
        json.member("serverTime", serverTime.rfc3339)
        json.member("revision", revision)
        json.service(level: level, reason: reason, source: source, asOf: asOf) { json in
            guard let refresh else { return }
            json.object("refresh") { json in refresh.write(to: &json) }
        }
    }

    static func fragment(_ evaluation: CustomerEvaluation) -> [UInt8] {
        var json = JSONWriter()
        json.array("entitlements", evaluation.entitlements) { json, entitlement in json.value(entitlement) }
        json.array("subscriptions", evaluation.subscriptions) { json, subscription in json.value(subscription) }
        return json.bytes
    }
}

extension JSONWriter {
    /// The member `service`: how good an answer is, or no answer.
    mutating func service(
        level: ServiceLevel, reason: ServiceReason, source: Answer.Source?, asOf: Timestamp?,
        more: (inout JSONWriter) -> Void = { _ in }
    ) {
        object("service") { json in
            json.member("level", level.rawValue)
            json.member("source", source?.rawValue)
            json.member("asOf", asOf?.rfc3339)
            json.member("reason", reason.rawValue)
            json.member("syncing", level.isSyncing)
            json.object("actions") { json in
                json.member("purchase", level.allowsPurchase)
                json.member("manageSubscription", level.allowsManaging)
            }
            more(&json)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ entitlement: CustomerEvaluation.Entitlement) {
        beginObject()
        member("id", entitlement.id)
        member("active", entitlement.active)
        member("validUntil", entitlement.validUntil?.rfc3339)
        member("state", entitlement.state.rawValue)
        member("willRenew", entitlement.willRenew)
        array("grantedBy", entitlement.grantedBy) { json, lineage in json.string(lineage) }
        endObject()
    }

    fileprivate mutating func value(_ subscription: LineageEvaluation) {
        beginObject()
        member("originalTransactionId", subscription.lineage.originalTransactionID)
        member("productId", subscription.productID)
        member("nextProductId", subscription.nextProductID)
        member("pendingChange", subscription.pendingChange?.rawValue)
        member("pendingChangeAt", subscription.pendingChangeAt?.rfc3339)
        member("state", subscription.state.rawValue)
        member("access", subscription.access)
        member("expiresAt", subscription.expiresAt?.rfc3339)
        member("gracePeriodExpiresAt", subscription.gracePeriodExpiresAt?.rfc3339)
        member("willRenew", subscription.willRenew)
        member("trial", subscription.isTrial)
        value("offer", subscription.offer)
        value("nextOffer", subscription.nextOffer)
        value("priceIncrease", subscription.priceIncrease)
        member("ownership", subscription.ownership)
        member("seats", subscription.seats)
        member("nextChangeAt", subscription.nextChangeAt?.rfc3339)
        member("nextState", subscription.nextState?.rawValue)
        member("pendingVerification", subscription.pendingVerification)
        endObject()
    }

    private mutating func value(_ key: String, _ offer: Offer?) {
        self.key(key)
        guard let offer else { return null() }
        beginObject()
        member("type", offer.type)
        member("identifier", offer.identifier)
        member("discountType", offer.discountType)
        endObject()
    }

    private mutating func value(_ key: String, _ increase: PriceIncrease?) {
        self.key(key)
        guard let increase else { return null() }
        beginObject()
        member("agreed", increase.isAgreed)
        member("renewalPrice", increase.renewalPrice)
        member("currency", increase.currency)
        endObject()
    }
}
