internal import CCrypto

/// UUIDs as text; only in lower case, which is what Apple compares.
package enum UUIDText {
    /// A new random one (version 4).
    package static func random() throws(SigningError) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard unsafe RAND_bytes(&bytes, Int32(bytes.count)) == 1 else {
            throw SigningError(.openSSL, "OpenSSL has no random bytes")
        }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = Array(Hexadecimal.encode(bytes).utf8)
        for place in [20, 16, 12, 8] { text.insert(UInt8(ascii: "-"), at: place) }
        return String(decoding: text, as: UTF8.self)
    }

    /// `text` in lower case, or nil if it is no UUID.
    package static func canonical(_ text: String) -> String? {
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
