package import Entitlements
package import JSON
package import Time

/// How far telling everybody of a published map is: kept in Redis beside the map, so that whoever goes on knows where.
package struct Recomputation: Sendable, Hashable {
    package struct Counts: NamedCounts {
        package var customers: UInt64 = 0
        /// Customers whose answer is another one.
        package var changed: UInt64 = 0
        /// Customers who gained, or lost, at least one entitlement.
        package var gained: UInt64 = 0
        package var lost: UInt64 = 0
        /// Lineages that Apple is asked about because of it.
        package var swept: UInt64 = 0
        package init() {}

        package static var all: Table {
            [
                ("customers", \.customers), ("changed", \.changed), ("gained", \.gained), ("lost", \.lost),
                ("swept", \.swept),
            ]
        }
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
}

extension Recomputation: StoredDocument {
    package func write(to json: inout JSONWriter) {
        json.member("version", version)
        json.member("done", isDone)
        json.member("cursor", cursor)
        json.member("server", server)
        json.member("unreadable", unreadable)
        json.member("updatedAt", updatedAt?.rfc3339)
        for environment in StoreEnvironment.allCases {
            json.object(environment.rawValue) { self[environment].write(to: &$0) }
        }
    }

    package init?(_ value: JSONValue) {
        guard let version = value["version"]?.int64, version >= 0, let isDone = value["done"]?.bool,
            let cursor = value["cursor"]?.string, HolderScan.isCursor(cursor)
        else { return nil }
        self.init(version: UInt64(version))
        self.isDone = isDone
        self.cursor = cursor
        server = value["server"]?.string ?? ""
        unreadable = value.count("unreadable")
        updatedAt = value.instant("updatedAt")
        for environment in StoreEnvironment.allCases { self[environment] = Counts(value[environment.rawValue]) }
    }
}
