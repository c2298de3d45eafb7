internal import Entitlements
package import JSON
package import Time

/// How good it is what was just read from Redis itself, past memory and snapshot: what support is told, and what was
/// decided (invariant 8).
package struct StoreReadNote: Sendable, Hashable {
    package let level: ServiceLevel
    package let reason: ServiceReason
    /// When the read was sent.
    package let asOf: Timestamp

    /// The member `service`, as every answer has it.
    package func write(to json: inout JSONWriter) {
        json.service(level: level, reason: reason, source: .redis, asOf: asOf)
    }

    /// The same, for whoever adds members to an object.
    package var fragment: [UInt8] {
        var json = JSONWriter()
        write(to: &json)
        return json.bytes
    }
}
