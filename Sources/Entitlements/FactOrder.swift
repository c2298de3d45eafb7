package import Time

/// A fact of which the record keeps one version: the last that Apple signed.
protocol VersionedFact {
    var signedDate: Timestamp { get }
    /// Whether this version takes something back; at equal dates such a version wins.
    var takesBack: Bool { get }
    /// The last resort of the order, of content alone: never of arrival.
    var content: [UInt8] { get }
}

extension VersionedFact {
    /// The total order on versions: signed date, then a revocation wins, then the content. That a reversed refund grants
    /// again (`Rule.refundReversed`) is this and nothing else.
    ///
    /// Bytes are compared, not Strings: two Strings can be equal by Unicode's rules and still differ in their bytes, and
    /// the record must come out byte-identical (invariant 3).
    func isSuperseded(by other: Self) -> Bool {
        if signedDate != other.signedDate { return signedDate < other.signedDate }
        if takesBack != other.takesBack { return other.takesBack }
        return content.lexicographicallyPrecedes(other.content)
    }
}

extension Optional where Wrapped: VersionedFact {
    /// Keeps the later version of the two; says whether that is the other one.
    mutating func keepLater(_ other: Wrapped?) -> Bool {
        guard let other, self?.isSuperseded(by: other) ?? true else { return false }
        self = other
        return true
    }
}

extension TransactionFact: VersionedFact {
    var takesBack: Bool { revocationDate != nil }
    var content: [UInt8] { ordered(payloadHash, self) }
}

extension RenewalFact: VersionedFact {
    var takesBack: Bool { false }
    var content: [UInt8] { ordered(payloadHash, self) }
}

/// Fields of a later version of the record stand last; without the closing brace, who has them follows who has not.
private func ordered(_ hash: String, _ fact: some CodedFact) -> [UInt8] {
    Array(hash.utf8) + [0] + RecordWriter.bytes(of: fact).dropLast()
}

extension StatusFact: VersionedFact {
    var takesBack: Bool { status == AppleStatus.revoked }
    /// The number, so that it orders as the number does (big-endian, sign bit flipped).
    var content: [UInt8] {
        let ordered = UInt64(bitPattern: status) ^ (1 << 63)
        return (0..<8).map { UInt8(truncatingIfNeeded: ordered >> (56 - 8 * $0)) }
    }
}

/// Whom a transaction named as its customer, and when Apple signed that.
package struct OwnerFact: Sendable, Hashable, VersionedFact {
    package var customer: String
    package var signedDate: Timestamp
    var payloadHash: String

    var takesBack: Bool { false }
    var content: [UInt8] { Array(payloadHash.utf8) + [0] + Array(customer.utf8) }
}

/// Apple's numbers for the status of a subscription.
enum AppleStatus {
    static let active: Int64 = 1
    static let expired: Int64 = 2
    static let billingRetry: Int64 = 3
    static let gracePeriod: Int64 = 4
    static let revoked: Int64 = 5
}
