package import Time

/// Writes the few ASN.1 shapes (in DER) that a certificate is made of.
package enum DER {
    /// One value with its tag and length.
    package static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            switch count {
            case ..<0x80: [UInt8(truncatingIfNeeded: count)]
            case ..<0x100: [0x81, UInt8(truncatingIfNeeded: count)]
            default: [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
            }
        return [tag] + length + content
    }

    package static func sequence(_ parts: [UInt8]...) -> [UInt8] { value(0x30, parts.flatMap(\.self)) }
    package static func set(_ parts: [UInt8]...) -> [UInt8] { value(0x31, parts.flatMap(\.self)) }
    package static func octets(_ content: [UInt8]) -> [UInt8] { value(0x04, content) }
    package static func bits(_ content: [UInt8], unused: UInt8 = 0) -> [UInt8] { value(0x03, [unused] + content) }
    package static func text(_ text: String) -> [UInt8] { value(0x0C, Array(text.utf8)) }
    package static func boolean(_ flag: Bool) -> [UInt8] { value(0x01, [flag ? 0xFF : 0]) }
    package static let null: [UInt8] = [0x05, 0x00]

    /// A non-negative integer from its big-endian bytes.
    package static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array(bytes.drop { $0 == 0 })
        let needsZero = digits.first.map { $0 >= 0x80 } ?? true
        return value(0x02, (needsZero ? [0] : []) + digits)
    }

    /// An object identifier from its arcs.
    package static func objectIdentifier(_ arcs: [UInt64]) -> [UInt8] {
        guard arcs.count >= 2 else { return value(0x06, []) }
        var content: [UInt8] = []
        for arc in [arcs[0] &* 40 &+ arcs[1]] + arcs.dropFirst(2) {
            var digits = [UInt8(truncatingIfNeeded: arc & 0x7F)]
            var rest = arc >> 7
            while rest > 0 {
                digits.append(UInt8(truncatingIfNeeded: rest & 0x7F) | 0x80)
                rest >>= 7
            }
            content += digits.reversed()
        }
        return value(0x06, content)
    }

    /// UTCTime up to 2049, GeneralizedTime from then on, as RFC 5280 wants it; whole seconds.
    package static func time(_ instant: Timestamp) -> [UInt8] {
        // 2026-11-30T02:14:38.123Z without its punctuation and its fraction.
        let digits = instant.rfc3339.utf8.filter { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }.prefix(14)
        let year = digits.prefix(4)
        let isShort = year.lexicographicallyPrecedes("2050".utf8) && !year.lexicographicallyPrecedes("1950".utf8)
        return value(isShort ? 0x17 : 0x18, Array(digits.dropFirst(isShort ? 2 : 0)) + [UInt8(ascii: "Z")])
    }
}
