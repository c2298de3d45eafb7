internal import JSON
internal import Time

/// A member that was there and could not be used.
package struct PayloadWarning: Sendable, Hashable, CustomStringConvertible {
    package let field: String
    package let problem: String

    package var description: String { "\(field) \(problem)" }
}

/// Why bytes are no payload at all: not a JSON object, or not JSON.
package struct PayloadError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}

/// Reads the members of an object so that a wrong type costs only that member; null counts as absent.
struct FieldReader {
    private(set) var warnings: [PayloadWarning] = []

    /// Reads one whole object; `member` must take exactly the member's value from the reader.
    static func read(
        _ bytes: [UInt8],
        _ member: (inout FieldReader, inout JSONReader, JSONKey) throws(JSONError) -> Void
    ) throws(PayloadError) -> [PayloadWarning] {
        var fields = FieldReader()
        var reader = JSONReader(bytes)
        do {
            try reader.readObject { (reader, key) throws(JSONError) in try member(&fields, &reader, key) }
            try reader.finish()
        } catch {
            throw PayloadError(description: error.description)
        }
        return fields.warnings
    }

    mutating func warn(_ field: String, _ problem: String) {
        warnings.append(PayloadWarning(field: field, problem: problem))
    }

    mutating func warn(_ key: JSONKey, _ problem: String) { warn(key.description, problem) }

    mutating func string(_ reader: inout JSONReader, _ key: JSONKey) throws(JSONError) -> String? {
        switch try reader.peek() {
        case .string: return try reader.readString()
        case .null: try reader.readNull()
        default:
            try reader.skip()
            warn(key, "is not a text")
        }
        return nil
    }

    mutating func integer(_ reader: inout JSONReader, _ key: JSONKey) throws(JSONError) -> Int64? {
        switch try reader.peek() {
        case .number:
            if let value = try reader.readNumber().int64 { return value }
            warn(key, "is not a 64-bit integer")
        case .null: try reader.readNull()
        default:
            try reader.skip()
            warn(key, "is not a number")
        }
        return nil
    }

    mutating func bool(_ reader: inout JSONReader, _ key: JSONKey) throws(JSONError) -> Bool? {
        switch try reader.peek() {
        case .bool: return try reader.readBool()
        case .null: try reader.readNull()
        default:
            try reader.skip()
            warn(key, "is neither true nor false")
        }
        return nil
    }

    /// Milliseconds since 1970, fractions cut off (Xcode sends some); years up to 9999 only.
    mutating func date(_ reader: inout JSONReader, _ key: JSONKey) throws(JSONError) -> Timestamp? {
        switch try reader.peek() {
        case .number:
            let number = try reader.readNumber()
            if let value = number.int64 ?? number.double.flatMap({ Int64(exactly: $0.rounded(.down)) }),
                Self.years.contains(value)
            {
                return Timestamp(milliseconds: value)
            }
            warn(key, "is out of range for a date")
        case .null: try reader.readNull()
        default:
            try reader.skip()
            warn(key, "is not a number")
        }
        return nil
    }

    /// A UUID in lower case; empty and all-zero ones, which some engines send for "none", are absent.
    mutating func uuid(_ reader: inout JSONReader, _ key: JSONKey) throws(JSONError) -> String? {
        guard let text = try string(&reader, key), !text.isEmpty else { return nil }
        let lower = text.lowercased()
        let isUUID =
            lower.utf8.count == 36
            && lower.utf8.enumerated().allSatisfy { place, byte in
                [8, 13, 18, 23].contains(place)
                    ? byte == UInt8(ascii: "-")
                    : UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
            }
        guard isUUID else {
            warn(key, "is not a UUID")
            return nil
        }
        return lower.utf8.allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: "-") } ? nil : lower
    }

    mutating func strings(_ reader: inout JSONReader, _ key: JSONKey) throws(JSONError) -> [String] {
        guard try isNext(.array, &reader, key, "is not a list") else { return [] }
        var texts: [String] = []
        var fields = self
        try reader.readArray { (reader) throws(JSONError) in
            if let text = try fields.string(&reader, key) { texts.append(text) }
        }
        self = fields
        return texts
    }

    /// Reads a nested object; false when there is none.
    mutating func object(
        _ reader: inout JSONReader, _ key: JSONKey,
        _ member: (inout FieldReader, inout JSONReader, JSONKey) throws(JSONError) -> Void
    ) throws(JSONError) -> Bool {
        guard try isNext(.object, &reader, key, "is not an object") else { return false }
        var inner = FieldReader()
        try reader.readObject { (reader, key) throws(JSONError) in try member(&inner, &reader, key) }
        for warning in inner.warnings { warn("\(key).\(warning.field)", warning.problem) }
        return true
    }

    private mutating func isNext(
        _ kind: JSONReader.Kind, _ reader: inout JSONReader, _ key: JSONKey, _ problem: String
    ) throws(JSONError) -> Bool {
        let found = try reader.peek()
        if found == kind { return true }
        try reader.skip()
        if found != .null { warn(key, problem) }
        return false
    }

    /// From the year -9999 to 9999; what is beyond is damage, and arithmetic with it means nothing.
    private static let years: ClosedRange<Int64> = -377_705_116_800_000...253_402_300_799_999
}
