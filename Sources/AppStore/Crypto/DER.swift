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
        let digits = instant.civilDigits
        return digits.hasPrefix("19") || digits < "2050"
            ? value(0x17, Array(digits.dropFirst(2).utf8) + [UInt8(ascii: "Z")])
            : value(0x18, Array(digits.utf8) + [UInt8(ascii: "Z")])
    }
}

extension Timestamp {
    /// `yyyyMMddHHmmss` in UTC.
    fileprivate var civilDigits: String {
        let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds &- 999) / 1000
        let day = seconds >= 0 ? seconds / 86_400 : (seconds &- 86_399) / 86_400
        let second = seconds &- day &* 86_400
        // Days to a civil date in eras of 400 years that begin on 1 March.
        let shifted = day &+ 719_468
        let era = (shifted >= 0 ? shifted : shifted &- 146_096) / 146_097
        let dayOfEra = shifted &- era &* 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let pairs = [month, dayOfMonth, second / 3600, second / 60 % 60, second % 60]
        let yearText = String(year)
        return String(repeating: "0", count: max(0, 4 - yearText.count)) + yearText
            + pairs.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined()
    }
}
