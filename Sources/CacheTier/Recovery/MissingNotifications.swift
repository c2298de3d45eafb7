package import JSON
package import Time

/// Notifications that Apple sent and no consumer has settled, by name up to a bound: sent through the line once an hour and
/// not with every look, and looked after until they are settled.
package struct MissingNotifications: Sendable, Hashable {
    package struct Missing: Sendable, Hashable {
        package let signedDate: Timestamp
        /// When it was sent through the line.
        package var sentAt: Timestamp
        package init(signedDate: Timestamp, sentAt: Timestamp) {
            self.signedDate = signedDate
            self.sentAt = sentAt
        }
    }

    package static let bound = 2000
    package static let again = Duration.seconds(3600)

    package private(set) var named: [String: Missing] = [:]
    /// Beyond the bound.
    package private(set) var more: UInt64 = 0

    package init() {}

    package var count: UInt64 { UInt64(named.count) &+ more }

    package mutating func add(_ uuid: String, _ missing: Missing) {
        if named[uuid] == nil, named.count >= Self.bound {
            more &+= 1
        } else {
            named[uuid] = missing
        }
    }

    package mutating func remove(_ uuid: String) { named[uuid] = nil }

    /// Whoever counts anew finds those again.
    package mutating func forgetUnnamed() { more = 0 }

    /// Whether it was sent so lately that sending it again would only add to what waits.
    package func isOnItsWay(_ uuid: String, at now: Timestamp) -> Bool {
        named[uuid].map { now - $0.sentAt < Self.again } ?? false
    }

    /// From when on the history has some that are to be sent again.
    package func overdue(at now: Timestamp) -> Timestamp? {
        named.values.filter { now - $0.sentAt >= Self.again }.map(\.signedDate).min()
    }
}

extension MissingNotifications: StoredDocument {
    package func write(to json: inout JSONWriter) {
        json.member("more", more)
        json.array("named", named.sorted { $0.key < $1.key }) { json, entry in
            json.beginObject()
            json.member("uuid", entry.key)
            json.member("signedAt", entry.value.signedDate.rfc3339)
            json.member("sentAt", entry.value.sentAt.rfc3339)
            json.endObject()
        }
    }

    package init?(_ value: JSONValue) {
        guard let entries = value["named"]?.array else { return nil }
        more = value.count("more")
        for entry in entries.prefix(Self.bound) {
            guard let uuid = entry["uuid"]?.string, let signed = entry.instant("signedAt"),
                let sent = entry.instant("sentAt")
            else { continue }
            named[uuid] = Missing(signedDate: signed, sentAt: sent)
        }
    }
}
