package import Entitlements
internal import JSON
package import Time

/// What was posted for a customer, as it goes through the broker and into the ledger: what Apple signed, raw, and what
/// was decided about it.
///
/// What Apple signed proves itself, and whoever reads the message verifies it again. The claims are our own word and prove
/// nothing: they count because the message came by our own exchange.
///
///     {"customer": "…", "environment": "…", "receivedAt": 1764000000000, "isForced": false, "signedTransactions": […], "signedRenewalInfos": […],
///      "decisions": [{"originalTransactionId": "…", "changed": true, "claim": {…}, "from": […], "refusal": null}]}
///
/// A lineage without a decision is undecided: whoever applies the message decides, and publishes what was decided in
/// another message. Replaying needs the decided ones only. A decision about a lineage of which nothing was posted is an
/// operator's, about a purchase that was known.
package struct PurchaseMessage: Sendable, Hashable {
    /// The value of the header `kind` that such a message carries; notifications carry none.
    package static let kind = "purchases"
    package static let kindHeader = "kind"

    /// What was decided about one lineage, and already written.
    package struct Decision: Sendable, Hashable {
        package var originalTransactionID: String
        /// Whether the store was changed by it, so that others are told.
        package var changed: Bool
        /// What the store has of the customer's claim, accepted now or before; nil when the token names the customer, or
        /// when it was refused.
        package var claim: ClaimFact?
        /// Who had the lineage until this claim.
        package var from: [String]
        package var refusal: ClaimRefusal?

        package init(
            originalTransactionID: String, changed: Bool, claim: ClaimFact? = nil, from: [String] = [],
            refusal: ClaimRefusal? = nil
        ) {
            self.originalTransactionID = originalTransactionID
            self.changed = changed
            self.claim = claim
            self.from = from
            self.refusal = refusal
        }
    }

    package var customer: String
    package var environment: StoreEnvironment
    package var receivedAt: Timestamp
    package var isForced: Bool
    package var posted: PostedPurchases
    package var decisions: [Decision]

    package init(
        customer: String, environment: StoreEnvironment, receivedAt: Timestamp, isForced: Bool = false,
        posted: PostedPurchases, decisions: [Decision] = []
    ) {
        self.customer = customer
        self.environment = environment
        self.receivedAt = receivedAt
        self.isForced = isForced
        self.posted = posted
        self.decisions = decisions
    }

    package subscript(originalTransactionID: String) -> Decision? {
        decisions.first { $0.originalTransactionID == originalTransactionID }
    }

    /// The same for the same purchases of the same customer at the same moment.
    package var id: String {
        "purchases-" + String(SHA256.hexadecimal(encoded()).prefix(32))
    }

    // MARK: JSON

    package func encoded() -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 8192 * posted.signedTransactions.count)
        json.beginObject()
        json.member("customer", customer)
        json.member("environment", environment.rawValue)
        json.member("receivedAt", receivedAt.milliseconds)
        json.member("isForced", isForced)
        for list in PostedPurchases.List.allCases {
            json.array(list.rawValue, posted[list]) { json, text in json.string(text) }
        }
        json.array("decisions", decisions) { json, decision in
            json.beginObject()
            json.member("originalTransactionId", decision.originalTransactionID)
            json.member("changed", decision.changed)
            if let claim = decision.claim {
                json.object("claim") { json in
                    json.member("customer", claim.customer)
                    json.member("claimedAt", claim.claimedAt.milliseconds)
                    json.member("transactionId", claim.transactionID)
                    json.member("over", claim.over)
                    json.member("takesOver", claim.takesOver)
                }
            }
            json.array("from", decision.from) { json, customer in json.string(customer) }
            json.member("refusal", decision.refusal?.rawValue)
            json.endObject()
        }
        json.endObject()
        return json.bytes
    }

    /// Why a body is no such message.
    package struct Unreadable: Error, Sendable, Hashable, CustomStringConvertible {
        package let description: String
    }

    package init(decoding body: [UInt8]) throws(Unreadable) {
        let value: JSONValue
        do { value = try JSONValue.parse(body, maximumDepth: 6) } catch {
            throw Unreadable(description: "it is not JSON: \(error)")
        }
        func texts(_ value: JSONValue?, _ name: String) throws(Unreadable) -> [String] {
            guard let array = value?.array else { throw Unreadable(description: "\(name) is no list") }
            let texts = array.compactMap(\.string)
            guard texts.count == array.count else { throw Unreadable(description: "\(name) is no list of texts") }
            return texts
        }
        guard let customer = value["customer"]?.string,
            let environment = value["environment"]?.string.flatMap(StoreEnvironment.init),
            let receivedAt = value["receivedAt"]?.int64,
            let isForced = value["isForced"]?.bool, let decisions = value["decisions"]?.array
        else {
            throw Unreadable(
                description: "customer, environment, receivedAt, isForced or decisions is missing or unreadable")
        }
        self.customer = try Self.checked(customer: customer)
        self.environment = environment
        self.receivedAt = Timestamp(milliseconds: receivedAt)
        self.isForced = isForced
        let transactions = try texts(value["signedTransactions"], "signedTransactions")
        let renewals = try texts(value["signedRenewalInfos"], "signedRenewalInfos")
        do throws(PostedPurchases.Mistake) {
            posted = try PostedPurchases(signedTransactions: transactions, signedRenewalInfos: renewals)
        } catch {
            throw Unreadable(description: "\(error.field ?? "it"): \(error.sentence)")
        }
        guard decisions.count <= 2 * PostedPurchases.maximumCount else {
            throw Unreadable(description: "it has more decisions than can have been asked for")
        }
        self.decisions = []
        for decision in decisions {
            guard let id = decision["originalTransactionId"]?.string, let changed = decision["changed"]?.bool else {
                throw Unreadable(description: "a decision names no lineage")
            }
            self.decisions.append(
                Decision(
                    originalTransactionID: id, changed: changed, claim: try Self.claim(decision["claim"]),
                    from: try texts(decision["from"], "from"),
                    refusal: decision["refusal"]?.string.flatMap(ClaimRefusal.init)))
        }
    }

    private static func checked(customer: String) throws(Unreadable) -> String {
        if let mistake = CustomerID.mistake(in: customer) { throw Unreadable(description: mistake) }
        return customer
    }

    private static func claim(_ value: JSONValue?) throws(Unreadable) -> ClaimFact? {
        guard let value else { return nil }
        guard let customer = value["customer"]?.string, let claimedAt = value["claimedAt"]?.int64,
            let transactionID = value["transactionId"]?.string
        else { throw Unreadable(description: "a claim lacks customer, claimedAt or transactionId") }
        return ClaimFact(
            customer: try checked(customer: customer), claimedAt: Timestamp(milliseconds: claimedAt),
            transactionID: transactionID,
            over: value["over"]?.string, takesOver: value["takesOver"]?.bool ?? false)
    }
}
