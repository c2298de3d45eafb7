package import JSON
package import Time

// A lineage's history for those who read it.

extension LineageRecord {
    /// What was noted up to `instant`, and what time alone has made since the last of it: oldest first.
    package func timeline(
        _ noted: [HistoryEntry], until instant: Timestamp, map: ProductMap,
        policy: EvaluationPolicy = .standard
    ) -> [HistoryEntry] {
        let past = noted.filter { $0.at <= instant }
        guard let mark = HistoryMark(of: past) else { return past }
        return past + HistoryEntry.madeByTime(in: self, since: mark, until: instant, map: map, policy: policy)
    }
}

extension HistoryEntry {
    /// In a line, without the time: "active to canceled, the customer's choice: renewal is off (DID_CHANGE_…)".
    package var sentence: String {
        var text =
            switch kind {
            case .transfer: "from \(fromCustomer ?? "nobody") to \(toCustomer ?? "nobody")"
            case .transition: "\(from?.rawValue ?? "nothing") to \(to?.rawValue ?? "nothing")"
            case .change: to.map { "still \($0.rawValue)" } ?? "nothing begun"
            }
        text += ", \(cause.phrase)"
        if let detail { text += ": \(HistoryDetail(rawValue: detail)?.sentence ?? detail)" }
        let names = [notificationType, subtype].compactMap(\.self).joined(separator: " ")
        if !names.isEmpty { text += " (\(names))" }
        if isUnexpected {
            text += "; not in the table of transitions: news in between is missing or late"
        }
        return text
    }

    package func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("at", at.rfc3339)
        json.member("kind", kind.rawValue)
        json.member("cause", cause.rawValue)
        json.member("from", from?.rawValue)
        json.member("to", to?.rawValue)
        json.member("unexpected", isUnexpected)
        json.member("detail", detail)
        json.member("productId", productID)
        json.member("fromCustomer", fromCustomer)
        json.member("toCustomer", toCustomer)
        json.member("source", source?.rawValue)
        json.member("notificationType", notificationType)
        json.member("subtype", subtype)
        json.member("notificationUUID", notificationUUID)
        json.member("signedDate", signedDate?.rfc3339)
        json.member("explanation", sentence + ".")
        json.endObject()
    }
}

extension TransitionCause {
    package var phrase: String {
        switch self {
        case .time: "time passed"
        case .purchase: "bought"
        case .renewal: "renewed"
        case .preference: "the customer's choice"
        case .offer: "an offer was redeemed"
        case .failure: "the renewal could not be charged"
        case .recovery: "charged after all"
        case .expiry: "Apple says that it is over"
        case .renewalExtension: "the renewal date was moved"
        case .refund: "refunded"
        case .refundReversed: "the refund was reversed"
        case .revoke: "withdrawn"
        case .price: "another price"
        case .answer: "Apple's API or a device answered"
        case .map: "another product map or policy"
        case .other: "other news"
        }
    }
}
