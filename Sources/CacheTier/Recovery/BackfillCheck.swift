package import JSON
package import Time

/// What the last regular look at Apple's notification history found: "sent by Apple and not with us".
package struct BackfillCheck: Sendable, Hashable {
    package var checkedAt: Timestamp
    /// So much of the history was read this time.
    package var from: Timestamp
    package var until: Timestamp
    /// From here to `until` it has been read without a gap.
    package var since: Timestamp
    package var sent: UInt64 = 0
    /// Of these, those that had not come by themselves.
    package var found: UInt64 = 0
    /// All that were found missing, this time or before, and that no consumer has settled yet.
    package var missing: UInt64 = 0
    /// In the history, and not signed by Apple as far as we can say.
    package var unusable: UInt64 = 0
    /// What made it read further back than usual.
    package var gaps: [BackfillGap.Cause] = []

    package init(checkedAt: Timestamp, from: Timestamp, until: Timestamp, since: Timestamp) {
        self.checkedAt = checkedAt
        self.from = from
        self.until = until
        self.since = since
    }

    /// The number for the operator.
    package var notWithUs: UInt64 { missing &+ unusable }
}

extension BackfillCheck: StoredDocument {
    package func write(to json: inout JSONWriter) {
        json.member("notWithUs", notWithUs)
        json.member("checkedAt", checkedAt.rfc3339)
        json.member("from", from.rfc3339)
        json.member("until", until.rfc3339)
        json.member("since", since.rfc3339)
        json.member("sentByApple", sent)
        json.member("found", found)
        json.member("missing", missing)
        json.member("unusable", unusable)
        json.array("gaps", gaps) { $0.string($1.rawValue) }
    }

    package init?(_ value: JSONValue) {
        guard let checkedAt = value.instant("checkedAt"), let from = value.instant("from"),
            let until = value.instant("until"), from <= until
        else { return nil }
        self.init(checkedAt: checkedAt, from: from, until: until, since: value.instant("since") ?? from)
        sent = value.count("sentByApple")
        found = value.count("found")
        missing = value.count("missing")
        unusable = value.count("unusable")
        gaps = (value["gaps"]?.array ?? []).compactMap { $0.string.flatMap(BackfillGap.Cause.init) }
    }
}
