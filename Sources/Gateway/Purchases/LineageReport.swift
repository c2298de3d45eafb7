package import CacheTier
package import Entitlements
package import JSON
package import Time

extension FoundLineage {
    /// What was noted of it, and what time alone has made since.
    package func timeline(_ noted: [HistoryEntry], at instant: Timestamp, _ rules: StoreRules) -> [HistoryEntry] {
        record.timeline(noted, until: instant, map: rules.map, policy: rules.evaluation)
    }
}

/// How single lineages and their histories are written as JSON, by the routes and by the commands.
extension JSONWriter {
    /// The members `count`, `unclaimed` and `next` of a page.
    package mutating func unclaimed(
        _ page: UnclaimedPage, count: Int, at instant: Timestamp, _ rules: StoreRules
    ) {
        // Others may be added or claimed between the two questions.
        member("count", max(count, page.lineages.count))
        array("unclaimed", page.lineages) { json, found in
            json.beginObject()
            json.member("originalTransactionId", found.lineage.originalTransactionID)
            json.member("firstSeen", found.firstSeen.rfc3339)
            json.lineage(found.record, at: instant, rules)
            json.endObject()
        }
        member("next", page.next)
    }

    /// The members `customers`, `claims` and what it is at `instant`.
    package mutating func found(_ found: FoundLineage, at instant: Timestamp, _ rules: StoreRules) {
        array("customers", found.holders.compactMap(\.customer)) { json, customer in json.string(customer) }
        array("claims", found.record.claims) { json, claim in
            json.beginObject()
            json.member("customer", claim.customer)
            json.member("claimedAt", claim.claimedAt.rfc3339)
            json.member("transactionId", claim.transactionID)
            json.member("over", claim.over)
            json.member("takesOver", claim.takesOver)
            json.endObject()
        }
        lineage(found.record, at: instant, rules)
    }

    /// What a lineage is at `instant`, and how much is known of it.
    package mutating func lineage(_ record: LineageRecord, at instant: Timestamp, _ rules: StoreRules) {
        let evaluation = record.evaluated(at: instant, map: rules.map, policy: rules.evaluation)
        member("namedByToken", record.customer)
        member("productId", evaluation.productID)
        member("state", evaluation.state.rawValue)
        member("access", evaluation.access)
        member("expiresAt", evaluation.expiresAt?.rfc3339)
        array("entitlements", evaluation.entitlements.sorted()) { json, id in json.string(id) }
        member("transactions", record.transactions.count)
    }

    /// The members `history`, oldest first, and `unexpected`: how many of its transitions the table does not know.
    package mutating func history(_ entries: [HistoryEntry]) {
        member("unexpected", entries.count(where: \.isUnexpected))
        array("history", entries) { json, entry in entry.write(to: &json) }
    }
}
