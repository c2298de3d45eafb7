package import Entitlements
package import JSON
package import Time

/// How far telling everybody of a published map is: kept in Redis beside the map, so that whoever goes on knows where.
package struct Recomputation: Sendable, Hashable {
    package struct Counts: Sendable, Hashable {
        package var customers: UInt64 = 0
        /// Customers whose answer is another one.
        package var changed: UInt64 = 0
        /// Customers who gained, or lost, at least one entitlement.
        package var gained: UInt64 = 0
        package var lost: UInt64 = 0
        package init() {}
    }

    package let version: UInt64
    package var isDone = false
    /// Where the walk over all keys goes on.
    package var cursor = HolderScan.beginning
    /// The server process that gave the cursor, which no other one understands.
    package var server = ""
    package var counts: [StoreEnvironment: Counts] = [:]
    /// Holders whose records this version cannot read.
    package var unreadable: UInt64 = 0
    package var updatedAt: Timestamp?

    package init(version: UInt64) { self.version = version }

    package subscript(environment: StoreEnvironment) -> Counts {
        get { counts[environment] ?? Counts() }
        set { counts[environment] = newValue }
    }

    package var fraction: Double { isDone ? 1 : HolderScan.fraction(at: cursor) }

    package func write(to json: inout JSONWriter) {
        json.member("version", version)
        json.member("done", isDone)
        json.member("cursor", cursor)
        json.member("server", server)
        json.member("unreadable", unreadable)
        json.member("updatedAt", updatedAt?.rfc3339)
        for environment in StoreEnvironment.allCases {
            let counts = self[environment]
            json.object(environment.rawValue) { json in
                json.member("customers", counts.customers)
                json.member("changed", counts.changed)
                json.member("gained", counts.gained)
                json.member("lost", counts.lost)
            }
        }
    }

    var bytes: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        write(to: &json)
        json.endObject()
        return json.bytes
    }

    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONValue.parse(bytes), let version = value["version"]?.int64, version > 0,
            let isDone = value["done"]?.bool, let cursor = value["cursor"]?.string, HolderScan.isCursor(cursor)
        else { return nil }
        func number(_ value: JSONValue?) -> UInt64 { UInt64(max(0, value?.int64 ?? 0)) }
        self.init(version: UInt64(version))
        self.isDone = isDone
        self.cursor = cursor
        server = value["server"]?.string ?? ""
        unreadable = number(value["unreadable"])
        updatedAt = value["updatedAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        for environment in StoreEnvironment.allCases {
            guard let counts = value[environment.rawValue] else { continue }
            self[environment].customers = number(counts["customers"])
            self[environment].changed = number(counts["changed"])
            self[environment].gained = number(counts["gained"])
            self[environment].lost = number(counts["lost"])
        }
    }
}
