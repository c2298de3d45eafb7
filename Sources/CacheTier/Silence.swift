package import JSON
package import Time

/// That nothing can be said of a customer, which is not to say that there is nothing: Redis cannot be asked, and no other
/// tier has ever heard of the customer. How good it is, is told like that of an answer (invariant 8).
package struct Silence: Sendable, Hashable {
    package let level: ServiceLevel
    package let reason: ServiceReason
    /// When Redis was last heard from; nil when it never was.
    package let asOf: Timestamp?

    /// The member `service`, as an answer has it, without a source.
    package func write(to json: inout JSONWriter) {
        json.service(level: level, reason: reason, source: nil, asOf: asOf)
    }

    /// The same, for whoever adds members to an object.
    package var fragment: [UInt8] {
        var json = JSONWriter()
        write(to: &json)
        return json.bytes
    }
}
