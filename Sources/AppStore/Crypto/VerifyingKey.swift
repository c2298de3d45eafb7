internal import CCrypto

/// A public elliptic-curve key.
package struct VerifyingKey: Sendable {
    let key: Key
    private let ready: ReadyContext?

    package var curve: Curve { key.curve }

    init(_ key: Key) {
        self.key = key
        ready = ReadyContext(key)
    }

    /// Reads a DER SubjectPublicKeyInfo; nil unless it is a key on P-256 or P-384 and nothing else.
    package init?(subjectPublicKeyInfo der: [UInt8]) {
        let (pointer, isWhole) = unsafe der.withUnsafeBufferPointer { bytes -> (OpaquePointer?, Bool) in
            var position = bytes.baseAddress
            let pointer = unsafe d2i_PUBKEY(nil, &position, bytes.count)
            return unsafe (pointer, position == bytes.baseAddress.map { unsafe $0 + bytes.count })
        }
        ERR_clear_error()
        guard let key = unsafe Key(taking: pointer), isWhole else { return nil }
        self.init(key)
    }

    /// Whether `signature` (r‖s, 64 bytes) is this key's ES256 signature of `message`.
    package func isES256Signature(_ signature: [UInt8], of message: ArraySlice<UInt8>) -> Bool {
        verdict(on: signature, ofDigest: SHA256.digest(message)) == .good
    }

    enum Verdict { case good, bad, undecidable }

    /// The same of a message's SHA-256, telling a bad signature from a check that could not be carried out.
    func verdict(on signature: [UInt8], ofDigest digest: [UInt8]) -> Verdict {
        guard curve == .p256, signature.count == ECDSASignature.es256Size, digest.count == SHA256.byteCount else {
            return .bad
        }
        guard let context = unsafe ready?.copy() else { return .undecidable }
        defer {
            unsafe EVP_PKEY_CTX_free(context)
            // Entries in a thread's error queue would be taken for TLS errors by the next to look.
            ERR_clear_error()
        }
        let der = ECDSASignature.der(fromRaw: signature[...])
        return unsafe EVP_PKEY_verify(context, der, der.count, digest, digest.count) == 1 ? .good : .bad
    }
}

/// A context of OpenSSL's that is ready to verify with one key: copying it costs a fifth of making one.
///
/// `@unchecked Sendable`: the context is only copied from after `init`, which OpenSSL allows any number of threads.
@safe
private final class ReadyContext: @unchecked Sendable {
    private let context: OpaquePointer

    init?(_ key: Key) {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_PKEY_CTX_new(key.pointer, nil) else { return nil }
        unsafe self.context = unsafe context
        guard unsafe EVP_PKEY_verify_init(context) == 1 else { return nil }
    }

    deinit { unsafe EVP_PKEY_CTX_free(context) }

    /// The caller frees it.
    func copy() -> OpaquePointer? { unsafe EVP_PKEY_CTX_dup(context) }
}
