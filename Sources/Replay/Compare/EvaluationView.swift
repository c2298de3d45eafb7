package import Entitlements
package import JSON
internal import Time

/// What a record means at one instant, as JSON: for states that are compared, and for people.
package enum EvaluationView {
    package static func write(_ evaluation: LineageEvaluation, to json: inout JSONWriter) {
        json.beginObject()
        json.member("state", evaluation.state.rawValue)
        json.member("reason", evaluation.reason.rawValue)
        json.member("access", evaluation.access)
        json.member("productId", evaluation.productID)
        json.member("nextProductId", evaluation.nextProductID)
        json.member("pendingChange", evaluation.pendingChange?.rawValue)
        json.member("pendingChangeAt", evaluation.pendingChangeAt?.rfc3339)
        json.member("validUntil", evaluation.validUntil?.rfc3339)
        json.member("expiresAt", evaluation.expiresAt?.rfc3339)
        json.member("gracePeriodExpiresAt", evaluation.gracePeriodExpiresAt?.rfc3339)
        json.member("willRenew", evaluation.willRenew)
        json.member("ownership", evaluation.ownership)
        json.member("seats", evaluation.seats)
        json.member("offer", evaluation.offer.map { "\($0.type) \($0.identifier ?? "") \($0.discountType ?? "")" })
        json.member(
            "nextOffer", evaluation.nextOffer.map { "\($0.type) \($0.identifier ?? "") \($0.discountType ?? "")" })
        json.member("priceIncreaseAgreed", evaluation.priceIncrease.map { $0.isAgreed ? 1 : 0 })
        json.array("entitlements", evaluation.entitlements.sorted()) { json, id in json.string(id) }
        json.object("formerEntitlements") { json in
            for (id, end) in evaluation.formerEntitlements.sorted(by: { $0.key < $1.key }) {
                json.member(id, end.rfc3339)
            }
        }
        json.member("mapped", evaluation.isMapped)
        json.member("nextChangeAt", evaluation.nextChangeAt?.rfc3339)
        json.member("nextState", evaluation.nextState?.rawValue)
        json.member("pendingVerification", evaluation.pendingVerification)
        json.endObject()
    }

    package static func value(_ evaluation: LineageEvaluation) throws(JSONError) -> JSONValue {
        var json = JSONWriter()
        write(evaluation, to: &json)
        return try JSONValue.parse(json.bytes)
    }

    /// The members of two evaluations that differ. All are always written, so one that only one of them has is new to the
    /// version that wrote the other, and no difference.
    package static func differences(_ mine: JSONValue, _ theirs: JSONValue) -> [MemberDifference] {
        (mine.object?.members ?? []).compactMap { member in
            guard let other = theirs[member.key], other != member.value else { return nil }
            return MemberDifference(fact: "evaluation", member: member.key, mine: member.value, theirs: other)
        }
    }
}
