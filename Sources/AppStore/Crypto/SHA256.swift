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

    package static func digest(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        unsafe bytes.withUnsafeBufferPointer { unsafe digest($0) }
    }

    private static func digest(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
            _ = unsafe CCrypto.SHA256(bytes.baseAddress, bytes.count, output.baseAddress)
            count = byteCount
        }
    }
}

/// The beginning of a message, hashed once for all the messages that begin so.
///
/// `@unchecked Sendable`: the context is only copied from after `init`, which OpenSSL allows any number of threads.
@safe
final class HashedBeginning: @unchecked Sendable {
    private let context: OpaquePointer

    /// Nil when OpenSSL has no memory left.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard let context = unsafe EVP_MD_CTX_new() else { return nil }
        unsafe self.context = unsafe context
        let isHashed = unsafe bytes.withUnsafeBufferPointer {
            unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
                && EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1
        }
        guard isHashed else { return nil }
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// SHA-256 of the beginning and `rest`.
    func digest(followedBy rest: ArraySlice<UInt8>) -> [UInt8]? {
        guard let copy = unsafe EVP_MD_CTX_new() else { return nil }
        defer { unsafe EVP_MD_CTX_free(copy) }
        guard unsafe EVP_MD_CTX_copy_ex(copy, context) == 1 else { return nil }
        let isHashed = unsafe rest.withUnsafeBufferPointer {
            unsafe EVP_DigestUpdate(copy, $0.baseAddress, $0.count) == 1
        }
        var digest = [UInt8](repeating: 0, count: SHA256.byteCount)
        guard isHashed, unsafe EVP_DigestFinal_ex(copy, &digest, nil) == 1 else { return nil }
        return digest
    }
}

/// Bytes as pairs of lower-case hexadecimal digits.
package enum Hexadecimal {
    package static func encode(_ bytes: [UInt8]) -> String {
        unsafe String(unsafeUninitializedCapacity: bytes.count &* 2) { text in
            for index in bytes.indices {
                unsafe text[index &* 2] = digit(bytes[index] >> 4)
                unsafe text[index &* 2 &+ 1] = digit(bytes[index] & 15)
            }
            return bytes.count &* 2
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &- 10 &+ value
    }
}
