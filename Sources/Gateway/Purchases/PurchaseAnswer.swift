internal import AppStore
internal import CacheTier
internal import Entitlements
internal import HTTP
internal import JSON
internal import Time

/// What whoever posted purchases is told: what was decided about each, and what a read answers now.
struct PurchaseAnswer {
    /// One lineage of the post.
    struct Item {
        let originalTransactionID: String
        let transactionIDs: [String]
        /// `claimed`, `alreadyYours`, `refused` or `pending`.
        let decision: String
        let refusal: ClaimRefusal?

        init(_ lineage: VerifiedPurchases.Lineage, _ decided: ClaimDecision?) {
            originalTransactionID = lineage.id.originalTransactionID
            transactionIDs = lineage.observations.compactMap(\.transaction?.transactionID)
            switch decided {
            case .accepted: (decision, refusal) = ("claimed", nil)
            case .alreadyTheirs: (decision, refusal) = ("alreadyYours", nil)
            case .refused(let reason): (decision, refusal) = ("refused", reason)
            case nil: (decision, refusal) = ("pending", nil)
            }
        }
    }

    let key: CustomerKey
    let receivedAt: Timestamp
    let items: [Item]
    var isDryRun = false

    var status: Int {
        if isDryRun { return 200 }
        if items.contains(where: { $0.decision == "pending" }) { return 202 }
        return items.allSatisfy { $0.refusal != nil } ? 409 : 200
    }

    /// Such as `claimed 2, refused 1`.
    var summary: String {
        let counts = items.reduce(into: [:]) { $0[$1.decision, default: 0] += 1 }
        return counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    /// With what a read says, if there is a read; else with how good that is, where a read was wanted.
    func response(
        read: Answer?, silence: Silence? = nil, note: StoreReadNote? = nil, serverTime: Timestamp, correlation: String
    ) -> HTTPResponse {
        var json = JSONWriter(reservingCapacity: 1024 + (read?.fragment.count ?? 0))
        json.beginObject()
        if let read {
            read.writeHead(to: &json, serverTime: serverTime)
        } else {
            json.member("app", key.app.rawValue)
            json.member("customer", key.customer)
            json.member("environment", key.environment.rawValue)
            json.member("serverTime", serverTime.rfc3339)
            silence?.write(to: &json)
            note?.write(to: &json)
        }
        if isDryRun { json.member("dryRun", true) }
        json.fragment(purchases)
        if let read { json.fragment(read.fragment) }
        json.endObject()
        var headers: HTTPHeaders = [
            "Correlation-ID": correlation, "Cache-Control": "no-store", "Content-Type": "application/json",
        ]
        if let level = read?.level ?? silence?.level ?? note?.level {
            headers.append("Holdfast-Service-Level", level.rawValue)
        }
        return HTTPResponse(status: status, headers: headers, body: json.bytes)
    }

    /// For when all are refused, and how good it is what that was decided by.
    func refusal(note: StoreReadNote, correlation: String) -> HTTPResponse {
        let reasons = Set(items.compactMap(\.refusal))
        let detail = reasons.sorted { $0.rawValue < $1.rawValue }.map(\.sentence).joined(separator: " ")
        var members = JSONWriter()
        note.write(to: &members)
        members.fragment(purchases)
        var response = Problem(.claimRefused, detail, code: reasons.count == 1 ? reasons.first?.rawValue : nil)
            .response(correlation: correlation, more: members.bytes)
        response.headers.append("Holdfast-Service-Level", note.level.rawValue)
        return response
    }

    /// The member `purchases`.
    private var purchases: [UInt8] {
        var json = JSONWriter()
        json.array("purchases", items) { json, item in
            json.beginObject()
            json.member("originalTransactionId", item.originalTransactionID)
            json.array("transactionIds", item.transactionIDs) { json, id in json.string(id) }
            json.member("decision", item.decision)
            json.member("reason", item.refusal?.rawValue)
            json.member("detail", item.refusal?.sentence)
            json.endObject()
        }
        return json.bytes
    }
}
