internal import Time

/// One attribute of a receipt or of a purchase in it, as it stands there.
package struct ReceiptAttribute: Sendable, Hashable {
    package let type: Int64
    package let version: Int64
    /// What the value's octet string holds: for most types one more ASN.1 element, for some plain bytes.
    package let value: [UInt8]

    package init(type: Int64, version: Int64 = 1, value: [UInt8]) {
        self.type = type
        self.version = version
        self.value = value
    }
}

/// The attributes of one set, and what of them could not be used.
struct ReceiptAttributes {
    /// More than any receipt has; each costs memory.
    static let limit = 100_000

    private(set) var all: [ReceiptAttribute] = []
    private(set) var warnings: [String] = []

    /// Nil unless `bytes` are a SET OF SEQUENCE { INTEGER, INTEGER, OCTET STRING } and nothing else. Further members of
    /// a sequence are passed over: Apple may add some.
    init?(_ bytes: ArraySlice<UInt8>, unwrapping: Bool = false, limit: Int = ReceiptAttributes.limit) {
        var reader = BERReader(bytes)
        guard var set = reader.next(), reader.isAtEnd else { return nil }
        // Xcode wraps the set in one more octet string.
        if unwrapping, let inner = set.octets {
            var unwrapped = BERReader(inner)
            guard let element = unwrapped.next(), unwrapped.isAtEnd else { return nil }
            set = element
        }
        guard set.tag == BERReader.Tag.set else { return nil }
        var members = BERReader(set.content)
        while !members.isAtEnd {
            guard all.count < limit, let member = members.next(), member.tag == BERReader.Tag.sequence else {
                return nil
            }
            var fields = BERReader(member.content)
            guard let type = fields.next()?.integer, let version = fields.next()?.integer,
                let value = fields.next()?.octets
            else { return nil }
            all.append(ReceiptAttribute(type: type, version: version, value: Array(value)))
        }
    }

    // MARK: Values by type; an empty text is how receipts say that there is none.

    func bytes(_ type: Int64) -> [UInt8]? { all.first { $0.type == type }?.value }

    mutating func text(_ type: Int64) -> String? {
        guard let bytes = bytes(type), !bytes.isEmpty else { return nil }
        var reader = BERReader(bytes[...])
        guard let text = reader.next()?.text, reader.isAtEnd else {
            warnings.append("attribute \(type) is not text")
            return nil
        }
        return text.isEmpty ? nil : text
    }

    mutating func integer(_ type: Int64) -> Int64? {
        guard let bytes = bytes(type), !bytes.isEmpty else { return nil }
        var reader = BERReader(bytes[...])
        guard let number = reader.next()?.integer, reader.isAtEnd else {
            warnings.append("attribute \(type) is not a whole number")
            return nil
        }
        return number
    }

    mutating func date(_ type: Int64) -> Timestamp? {
        guard let text = text(type) else { return nil }
        guard let date = Timestamp(rfc3339: text) else {
            warnings.append("attribute \(type) is not a date")
            return nil
        }
        return date
    }

    /// Those of types that are not among `known`.
    func others(than known: Set<Int64>) -> [ReceiptAttribute] { all.filter { !known.contains($0.type) } }
}
