package import JSON
internal import Time

extension Explanation {
    /// The members of the explanation, for an object that the caller has begun.
    package func write(to json: inout JSONWriter) {
        json.member("at", instant.rfc3339)
        json.member("entitlement", entitlement)
        json.member("access", hasAccess)
        json.member("explanation", sentence)
        json.member("productMapVersion", mapVersion)
        json.array("lineages", lineages) { json, lineage in lineage.write(to: &json) }
    }
}

extension LineageExplanation {
    fileprivate func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("originalTransactionId", evaluation.lineage.originalTransactionID)
        json.member("customer", customer)
        json.member("productId", evaluation.productID)
        json.member("state", evaluation.state.rawValue)
        json.member("reason", evaluation.reason.rawValue)
        json.member("access", evaluation.access)
        json.member("validUntil", evaluation.validUntil?.rfc3339)
        json.member("explanation", evaluation.summary + ".")
        json.array("rules", rules) { json, rule in
            json.beginObject()
            json.member("name", rule.rawValue)
            json.member("situation", rule.situation)
            json.member("rule", rule.text)
            json.member("decided", rule == evaluation.rule)
            json.endObject()
        }
        json.array("findings", findings) { json, finding in
            json.beginObject()
            json.member("about", finding.about)
            json.member("finding", finding.finding)
            json.endObject()
        }
        json.array("facts", facts) { json, fact in
            json.beginObject()
            json.member("signedDate", fact.signedDate.rfc3339)
            json.member("kind", fact.kind.rawValue)
            json.member("fact", fact.text)
            json.member("decisive", fact.isDecisive)
            json.endObject()
        }
        if let history { json.array("history", history) { json, entry in entry.write(to: &json) } }
        json.endObject()
    }
}
