/// Base64url without padding (RFC 4648 section 5), as compact JWS uses it: strict, so that one value has one text.
package enum Base64URL {
    /// The text of `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String { String(decoding: encodeBytes(bytes), as: UTF8.self) }

    /// The text of `bytes` as ASCII bytes.
    package static func encodeBytes(_ bytes: [UInt8]) -> [UInt8] { Base64Alphabet.url.encode(bytes) }

    /// What `text` stands for, or nil if it has padding, a character outside the alphabet, an impossible length or
    /// bits left over.
    package static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)[...]) }

    /// What `text` stands for, under the same rules.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        unsafe text.withUnsafeBufferPointer { unsafe Base64Alphabet.url.decode($0) }
    }
}

/// Standard base64 with padding (RFC 4648 section 4), as `x5c` and PEM use it; as strict.
package enum Base64 {
    /// The text of `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: Base64Alphabet.standard.encode(bytes), as: UTF8.self)
    }

    /// What `text` stands for, or nil if it is not exactly what `encode` would have written.
    package static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)[...]) }

    /// What `text` stands for, under the same rules.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        unsafe text.withUnsafeBufferPointer { unsafe Base64Alphabet.standard.decode($0) }
    }
}

/// The 64 characters of one dialect, and the way back.
struct Base64Alphabet: Sendable {
    static let standard = Base64Alphabet(last: "+/", isPadded: true)
    static let url = Base64Alphabet(last: "-_", isPadded: false)

    /// A bit that no group of 24 has.
    private static let invalid: UInt32 = 1 << 31
    private static let padding = UInt8(ascii: "=")

    private let characters: [UInt8]
    /// Four tables, one for each place in a group of four characters: the character's six bits where they belong.
    private let places: [UInt32]
    private let isPadded: Bool

    private init(last: String, isPadded: Bool) {
        let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8) + Array(last.utf8)
        var places = [UInt32](repeating: Self.invalid, count: 4 * 256)
        for (value, character) in characters.enumerated() {
            for place in 0..<4 { places[place * 256 + Int(character)] = UInt32(value) << UInt32(18 - 6 * place) }
        }
        self.characters = characters
        self.places = places
        self.isPadded = isPadded
    }

    func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count &+ 2) / 3 &* 4)
        var index = 0
        while index < bytes.count {
            let left = bytes.count &- index
            let first = bytes[index]
            let second = left > 1 ? bytes[index &+ 1] : 0
            let third = left > 2 ? bytes[index &+ 2] : 0
            text.append(characters[Int(first >> 2)])
            text.append(characters[Int((first & 3) << 4 | second >> 4)])
            if left > 1 {
                text.append(characters[Int((second & 15) << 2 | third >> 6)])
            } else if isPadded {
                text.append(Self.padding)
            }
            if left > 2 {
                text.append(characters[Int(third & 63)])
            } else if isPadded {
                text.append(Self.padding)
            }
            index = index &+ 3
        }
        return text
    }

    /// Reads through pointers: this runs over every byte that Apple sends.
    func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        var length = text.count
        if isPadded {
            guard length % 4 == 0 else { return nil }
            if length > 0, unsafe text[length &- 1] == Self.padding {
                length = length &- (unsafe text[length &- 2] == Self.padding ? 2 : 1)
            }
        }
        let whole = length / 4
        let rest = length % 4
        guard rest != 1 else { return nil }
        let size = whole &* 3 &+ (rest == 0 ? 0 : rest &- 1)
        var isValid = true
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { output, count in
            unsafe places.withUnsafeBufferPointer { places in
                var seen: UInt32 = 0
                var from = 0
                var to = 0
                func group(_ from: Int) -> UInt32 {
                    unsafe places[Int(text[from])] | places[256 &+ Int(text[from &+ 1])]
                        | places[512 &+ Int(text[from &+ 2])] | places[768 &+ Int(text[from &+ 3])]
                }
                let raw = UnsafeMutableRawBufferPointer(output)
                // Eight bytes are stored at once where there is room for them; the next two groups write over the last two.
                while from &+ 8 <= whole &* 4, to &+ 8 <= size {
                    let (first, second) = (group(from), group(from &+ 4))
                    seen |= first | second
                    let six = UInt64(first) << 40 | UInt64(second) << 16
                    unsafe raw.storeBytes(of: six.bigEndian, toByteOffset: to, as: UInt64.self)
                    from = from &+ 8
                    to = to &+ 6
                }
                while from < whole &* 4 {
                    let group = group(from)
                    seen |= group
                    unsafe output[to] = UInt8(truncatingIfNeeded: group >> 16)
                    unsafe output[to &+ 1] = UInt8(truncatingIfNeeded: group >> 8)
                    unsafe output[to &+ 2] = UInt8(truncatingIfNeeded: group)
                    from = from &+ 4
                    to = to &+ 3
                }
                if rest > 0 {
                    let third = rest == 3 ? unsafe places[512 &+ Int(text[from &+ 2])] : 0
                    let group = unsafe places[Int(text[from])] | places[256 &+ Int(text[from &+ 1])] | third
                    seen |= group
                    unsafe output[to] = UInt8(truncatingIfNeeded: group >> 16)
                    if rest == 3 { unsafe output[to &+ 1] = UInt8(truncatingIfNeeded: group >> 8) }
                    // Bits left over must be zero, or two texts would stand for the same bytes.
                    if group & (rest == 3 ? 0xFF : 0xFFFF) != 0 { isValid = false }
                }
                if seen & Self.invalid != 0 { isValid = false }
            }
            count = size
        }
        return isValid ? bytes : nil
    }
}
