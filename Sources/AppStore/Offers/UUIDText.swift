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

    /// What some engines send for "none".
    package static let zero = "00000000-0000-0000-0000-000000000000"

    /// `text` in lower case, or nil if it is no UUID.
    package static func canonical(_ text: String) -> String? {
        guard text.utf8.count == 36 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(36)
        for (place, byte) in text.utf8.enumerated() {
            let isDash = place == 8 || place == 13 || place == 18 || place == 23
            switch byte {
            case UInt8(ascii: "-") where isDash: bytes.append(byte)
            case _ where isDash: return nil
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): bytes.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): bytes.append(byte | 0x20)
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
