internal import Time

/// One parameter of an endpoint, by Apple's own name for it.
package struct ServerAPIField: Sendable, Hashable {
    package enum Place: Sendable { case path, query, body }

    package enum Kind: Sendable, Hashable {
        /// Printable text of 1 to so many bytes.
        case text(maximumBytes: Int)
        /// The caller's own name for a request, 1 to 128 bytes; a UUID is sent in lower case.
        case requestIdentifier
        case integer(ClosedRange<Int64>)
        case boolean
        /// Milliseconds since 1970, always whole: Apple refuses fractions. RFC 3339 is read too.
        case date
        /// Sent in lower case.
        case uuid
        /// A UUID, or `""`: Apple refuses null, and refuses it when it is missing.
        case uuidOrEmpty
        case choice([String])
    }

    package let name: String
    package let place: Place
    package let kind: Kind
    package var isRequired = false
    /// Whether it may be given several times; in a query its key is repeated.
    package var repeats = false

    static func path(_ name: String, _ kind: Kind = .text(maximumBytes: 255)) -> ServerAPIField {
        ServerAPIField(name: name, place: .path, kind: kind, isRequired: true)
    }

    static func query(_ name: String, _ kind: Kind, repeats: Bool = false) -> ServerAPIField {
        ServerAPIField(name: name, place: .query, kind: kind, repeats: repeats)
    }

    static func body(_ name: String, _ kind: Kind, repeats: Bool = false) -> ServerAPIField {
        ServerAPIField(name: name, place: .body, kind: kind, repeats: repeats)
    }

    static func required(_ name: String, _ kind: Kind) -> ServerAPIField {
        ServerAPIField(name: name, place: .body, kind: kind, isRequired: true)
    }

    /// The value as Apple wants it; nil when it cannot be sent.
    func normalised(_ value: String) -> String? {
        switch kind {
        case .text(let maximum):
            return isText(value, maximum) ? value : nil
        case .requestIdentifier: return isText(value, 128) ? Self.uuid(value) ?? value : nil
        case .integer(let range):
            return Int64(value).flatMap { range.contains($0) ? String($0) : nil }
        case .boolean: return value == "true" || value == "false" ? value : nil
        case .date:
            let instant = Int64(value) ?? Timestamp(rfc3339: value)?.milliseconds
            return instant.flatMap { (0...253_402_300_799_999).contains($0) ? String($0) : nil }
        case .uuid: return Self.uuid(value)
        case .uuidOrEmpty: return value.isEmpty ? "" : Self.uuid(value)
        case .choice(let words): return words.contains(value) ? value : nil
        }
    }

    /// What a value must be, for a sentence.
    package var expectation: String {
        switch kind {
        case .requestIdentifier: "a name of 1 to 128 bytes that you choose, such as a UUID"
        case .text(let maximum): "a text of 1 to \(maximum) bytes without control characters"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .boolean: "true or false"
        case .date: "whole milliseconds since 1970, or a date such as 2026-11-30T02:14:38Z"
        case .uuid: "a UUID"
        case .uuidOrEmpty: "a UUID or nothing"
        case .choice(let words): words.joined(separator: ", ")
        }
    }

    private func isText(_ value: String, _ maximumBytes: Int) -> Bool {
        guard (1...maximumBytes).contains(value.utf8.count), value.unicodeScalars.allSatisfy({ $0.value >= 0x20 })
        else { return false }
        // libcurl, as any client, would take these for a way up the path.
        return !(place == .path && (value == "." || value == ".."))
    }

    private static func uuid(_ text: String) -> String? {
        let lower = text.lowercased()
        let isUUID =
            lower.utf8.count == 36
            && lower.utf8.enumerated().allSatisfy { place, byte in
                [8, 13, 18, 23].contains(place)
                    ? byte == UInt8(ascii: "-")
                    : UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
            }
        return isUUID ? lower : nil
    }
}
