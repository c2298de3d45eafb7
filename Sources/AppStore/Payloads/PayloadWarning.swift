/// A member that was there and could not be used; it counts as absent.
package struct PayloadWarning: Sendable, Hashable, CustomStringConvertible {
    /// Where it stands in its payload, such as `advancedCommerceInfo.items[1].price`.
    package let field: String
    package let problem: String

    package var description: String { "\(field) \(problem)" }
}

/// Why bytes are no payload at all: not a JSON object, or not JSON.
package struct PayloadError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}

/// One member as it was read, for people who look into a payload.
package struct PayloadField: Sendable, Hashable {
    /// Where it stands in its payload.
    package let name: String
    /// As Apple sent it.
    package let value: String
    /// What it means, where that is more than it says; such as the day of a date, or the name of a number.
    package let meaning: String?
    /// False when this version does not know the member, or not this value of it.
    package let isKnown: Bool
}
