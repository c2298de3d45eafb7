import CCrypto

/// The work that no verifier of ES256 can do without: one P-256 verification of a digest, by OpenSSL and nothing around
/// it, the context ready and the signature in OpenSSL's form.
struct RawLimit {
    private let context: OpaquePointer
    private let digest = [UInt8](repeating: 7, count: 32)
    private var signature = [UInt8](repeating: 0, count: 80)

    init?() {
        guard let key = hf_generate_ec_key("prime256v1"), let signing = EVP_PKEY_CTX_new(key, nil),
            let context = EVP_PKEY_CTX_new(key, nil), EVP_PKEY_sign_init(signing) == 1,
            EVP_PKEY_verify_init(context) == 1
        else { return nil }
        self.context = context
        var length = signature.count
        guard EVP_PKEY_sign(signing, &signature, &length, digest, digest.count) == 1 else { return nil }
        signature.removeLast(signature.count - length)
    }

    func verify() -> Bool { EVP_PKEY_verify(context, signature, signature.count, digest, digest.count) == 1 }

    static var version: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
