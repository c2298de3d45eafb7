internal import CCrypto

/// The two curves that Apple signs on.
package enum Curve: Sendable {
    /// Leaf certificates, the Server API's keys, offers.
    case p256
    /// Apple's root and intermediate.
    case p384

    var groupName: String { self == .p256 ? "prime256v1" : "secp384r1" }
    /// Bytes of one coordinate, and so of r and of s.
    var fieldSize: Int { self == .p256 ? 32 : 48 }
}

/// Owns one OpenSSL elliptic-curve key, private or public; freed with the last reference.
///
/// `@unchecked Sendable`: an `EVP_PKEY` is never changed after it was made here, its reference count is atomic, and
/// OpenSSL allows any number of threads to sign and verify with one at a time.
@safe
final class Key: @unchecked Sendable {
    let curve: Curve
    let pointer: OpaquePointer

    /// Takes over `pointer`, and frees it at once unless it is a key on one of the two curves, named (explicit curve
    /// parameters would let whoever wrote them choose the curve).
    init?(taking pointer: OpaquePointer?) {
        guard let pointer = unsafe pointer else { return nil }
        guard let curve = unsafe Key.curve(of: pointer) else {
            unsafe EVP_PKEY_free(pointer)
            return nil
        }
        self.curve = curve
        unsafe self.pointer = unsafe pointer
    }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// A new random key.
    static func generate(_ curve: Curve) -> Key? { unsafe Key(taking: hf_generate_ec_key(curve.groupName)) }

    private static func curve(of pointer: OpaquePointer) -> Curve? {
        guard unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC else { return nil }
        var name = [CChar](repeating: 0, count: 40)
        var length = 0
        guard unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, &length) == 1 else { return nil }
        let text = String(decoding: name.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return [Curve.p256, .p384].first { $0.groupName == text }
    }
}

extension Key {
    /// The DER form of the public half (SubjectPublicKeyInfo).
    func subjectPublicKeyInfo() -> [UInt8]? { unsafe encodedDER { unsafe i2d_PUBKEY(pointer, $0) } }

    /// The DER form of the private key (PKCS#8).
    func pkcs8() -> [UInt8]? {
        guard let info = unsafe EVP_PKEY2PKCS8(pointer) else { return nil }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
        return unsafe encodedDER { unsafe i2d_PKCS8_PRIV_KEY_INFO(info, $0) }
    }

    /// ECDSA over SHA-256 on P-256, over SHA-384 on P-384: the DER form of r and s.
    func signature(of message: [UInt8]) -> [UInt8]? {
        guard let context = unsafe EVP_MD_CTX_new() else { return nil }
        defer { unsafe EVP_MD_CTX_free(context) }
        let digest = curve == .p256 ? unsafe EVP_sha256() : unsafe EVP_sha384()
        guard unsafe EVP_DigestSignInit(context, nil, digest, nil, pointer) == 1 else { return nil }
        var length = 0
        guard unsafe EVP_DigestSign(context, nil, &length, message, message.count) == 1, length > 0 else { return nil }
        var signature = [UInt8](repeating: 0, count: length)
        guard unsafe EVP_DigestSign(context, &signature, &length, message, message.count) == 1,
            length <= signature.count
        else { return nil }
        return Array(signature.prefix(length))
    }
}

/// Calls one of OpenSSL's `i2d` functions twice: for the size, then for the bytes.
func encodedDER(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
    let size = encode(nil)
    guard size > 0 else { return nil }
    var written: Int32 = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(size)) { output, count in
        var position = output.baseAddress
        written = unsafe encode(&position)
        count = written == size ? Int(size) : 0
    }
    return written == size ? bytes : nil
}
