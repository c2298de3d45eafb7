internal import Glibc

/// The name of a member, as a piece of the text that was read: comparing it with a literal makes no `String`.
///
///     switch key { case "status": … default: … }
package struct JSONKey: Sendable, CustomStringConvertible {
    /// UTF-8, escapes resolved.
    package let bytes: ArraySlice<UInt8>

    /// The name as text.
    package var description: String { String(decoding: bytes, as: UTF8.self) }

    package static func == (key: JSONKey, literal: StaticString) -> Bool {
        let count = literal.utf8CodeUnitCount
        guard key.bytes.count == count else { return false }
        return unsafe key.bytes.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return true }
            return unsafe memcmp(start, literal.utf8Start, count) == 0
        }
    }

    package static func ~= (literal: StaticString, key: JSONKey) -> Bool { key == literal }
}

/// Finds repeated names; few plain ones, as usual, cost neither hashing nor a `String`.
struct SeenKeys {
    /// Where the names stand in the text, as long as all of them are ASCII without escapes.
    private var few: [Range<Int>] = []
    private var many: Set<String> = []

    /// Whether the name at `place` in `text`, ASCII without escapes, is new.
    mutating func insert(_ place: Range<Int>, of text: [UInt8]) -> Bool {
        guard many.isEmpty, few.count < 64 else { return insert(String(decoding: text[place], as: UTF8.self), text) }
        for other in few where other.count == place.count && text[other] == text[place] { return false }
        if few.isEmpty { few.reserveCapacity(32) }
        few.append(place)
        return true
    }

    /// Whether `name` is new; what is equal as Unicode counts as the same.
    mutating func insert(_ name: String, _ text: [UInt8]) -> Bool {
        for place in few { many.insert(String(decoding: text[place], as: UTF8.self)) }
        few = []
        return many.insert(name).inserted
    }
}
