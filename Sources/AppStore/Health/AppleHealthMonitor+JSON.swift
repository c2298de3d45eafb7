internal import Entitlements
package import JSON
internal import Time

extension AppleHealthMonitor {
    /// The page `/apple` of the operators' listeners: for each app and environment how Apple does, since when and why, and
    /// the last changes, newest first.
    package var json: [UInt8] { page { _, _ in } }

    /// The same; `add` may write more members of a store.
    package func page(adding add: (AppleStore, inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 2048)
        json.beginObject()
        json.array("stores", statuses) { json, status in
            json.beginObject()
            status.write(to: &json)
            add(status.store, &json)
            json.endObject()
        }
        json.array("changes", recentChanges) { json, change in
            json.beginObject()
            change.write(to: &json)
            json.endObject()
        }
        json.endObject()
        return json.bytes
    }
}

extension AppleHealthMonitor.Status {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("app", store.app.rawValue)
        json.member("environment", store.environment.rawValue)
        json.member("health", health.rawValue)
        json.member("level", health.level)
        json.member("since", lastChange?.at.rfc3339)
        json.member("cause", lastChange?.cause)
        json.member("outageBegan", health == .fine ? nil : lastChange?.outageBegan?.rfc3339)
        json.member("lastCall", heardAt?.rfc3339)
        json.member("lastGoodCall", goodAt?.rfc3339)
        json.member("failuresInRow", failuresInRow)
        json.member("goodInRow", goodInRow)
        json.member("hasKey", hasKey)
        json.member("probed", isProbed)
        json.member("keyRefusedSince", keyRefusedSince?.rfc3339)
    }
}

extension AppleHealthMonitor.Change {
    /// Its members, for an object that the caller has begun.
    package func write(to json: inout JSONWriter) {
        json.member("app", app.rawValue)
        json.member("environment", environment.rawValue)
        json.member("from", from.rawValue)
        json.member("to", to.rawValue)
        json.member("level", to.level)
        json.member("at", at.rfc3339)
        json.member("cause", cause)
        json.member("trouble", trouble?.rawValue)
        json.member("outageBegan", outageBegan?.rfc3339)
        json.member("lastGoodCall", lastGood?.rfc3339)
    }
}

extension AppleHealth {
    /// The service level that it allows at best.
    package var level: String {
        switch self {
        case .notAsked, .fine: "S"
        case .degraded: "A"
        case .unreachable: "B"
        }
    }
}
