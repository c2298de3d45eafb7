internal import CCrypto

/// A public elliptic-curve key.
package struct VerifyingKey: Sendable {
    let key: Key

    package var curve: Curve { key.curve }

    init(_ key: Key) { self.key = key }

    /// Reads a DER SubjectPublicKeyInfo; nil unless it is a key on P-256 or P-384 and nothing else.
    package init?(subjectPublicKeyInfo der: [UInt8]) {
        let (pointer, isWhole) = unsafe der.withUnsafeBufferPointer { bytes -> (OpaquePointer?, Bool) in
            var position = bytes.baseAddress
            let pointer = unsafe d2i_PUBKEY(nil, &position, bytes.count)
            return unsafe (pointer, position == bytes.baseAddress.map { unsafe $0 + bytes.count })
        }
        ERR_clear_error()
        guard let key = unsafe Key(taking: pointer), isWhole else { return nil }
        self.key = key
    }

    /// Whether `signature` (r‖s, 64 bytes) is this key's ES256 signature of `message`.
    package func isES256Signature(_ signature: [UInt8], of message: ArraySlice<UInt8>) -> Bool {
        verdict(on: signature, of: message) == .good
    }

    enum Verdict { case good, bad, undecidable }

    /// The same, telling a bad signature from a check that could not be carried out.
    func verdict(on signature: [UInt8], of message: ArraySlice<UInt8>) -> Verdict {
        guard curve == .p256, signature.count == ECDSASignature.es256Size else { return .bad }
        let der = ECDSASignature.der(fromRaw: signature[...])
        guard let context = unsafe EVP_MD_CTX_new() else { return .undecidable }
        defer {
            unsafe EVP_MD_CTX_free(context)
            // Entries in a thread's error queue would be taken for TLS errors by the next to look.
            ERR_clear_error()
        }
        guard unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key.pointer) == 1 else {
            return .undecidable
        }
        return unsafe message.withUnsafeBufferPointer { bytes in
            unsafe EVP_DigestVerify(context, der, der.count, bytes.baseAddress, bytes.count) == 1 ? .good : .bad
        }
    }
}
