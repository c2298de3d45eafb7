internal import CCrypto

/// SHA-256 of bytes, as OpenSSL computes it.
package enum SHA256 {
    package static let byteCount = 32

    /// The 32-byte digest of `bytes`.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        unsafe bytes.withUnsafeBufferPointer { unsafe digest($0) }
    }

    /// The digest of `bytes` in lower-case hexadecimal.
    package static func hexadecimal(_ bytes: [UInt8]) -> String { Hexadecimal.encode(digest(bytes)) }

    static func digest(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
            _ = unsafe CCrypto.SHA256(bytes.baseAddress, bytes.count, output.baseAddress)
            count = byteCount
        }
    }
}

/// Bytes as pairs of lower-case hexadecimal digits.
package enum Hexadecimal {
    package static func encode(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count &* 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
