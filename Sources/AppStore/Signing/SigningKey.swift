internal import CCrypto

/// A private elliptic-curve key: P-256 for JWS, offers and the Server API's tokens, P-384 for certificates.
package struct SigningKey: Sendable {
    let key: Key

    package var curve: Curve { key.curve }

    /// A new random key.
    package init(generating curve: Curve = .p256) throws(SigningError) {
        guard let key = Key.generate(curve) else { throw SigningError(.openSSL, "OpenSSL could not make a key") }
        self.key = key
    }

    /// Reads a PEM private key, such as App Store Connect's `.p8` (PKCS#8); it must not be encrypted.
    package init(pem: String) throws(SigningError) {
        guard let der = PEM.decode(pem, label: "PRIVATE KEY")?.first else {
            throw SigningError(.unreadableKey, "the text has no -----BEGIN PRIVATE KEY----- block")
        }
        try self.init(pkcs8: der)
    }

    /// Reads a PKCS#8 private key.
    package init(pkcs8 der: [UInt8]) throws(SigningError) {
        let pointer = unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &position, bytes.count)
        }
        ERR_clear_error()
        guard unsafe pointer != nil else {
            throw SigningError(.unreadableKey, "the key is not a PKCS#8 private key")
        }
        guard let key = unsafe Key(taking: pointer) else {
            throw SigningError(.wrongCurve, "the key is neither on P-256 nor on P-384")
        }
        self.key = key
    }

    /// The key as PEM (PKCS#8), for a file only its owner can read.
    package func pem() throws(SigningError) -> String {
        guard let der = key.pkcs8() else { throw SigningError(.openSSL, "OpenSSL could not write the key") }
        return PEM.encode(der, label: "PRIVATE KEY")
    }

    /// The public half, DER (SubjectPublicKeyInfo).
    package func subjectPublicKeyInfo() throws(SigningError) -> [UInt8] {
        guard let der = key.subjectPublicKeyInfo() else {
            throw SigningError(.openSSL, "OpenSSL could not write the public key")
        }
        return der
    }

    /// The public half, for whoever verifies.
    package func verifyingKey() throws(SigningError) -> VerifyingKey {
        guard let verifying = VerifyingKey(subjectPublicKeyInfo: try subjectPublicKeyInfo()) else {
            throw SigningError(.openSSL, "OpenSSL could not read back the public key")
        }
        return verifying
    }

    /// ECDSA signature as DER: over SHA-256 on P-256 (promotional offers), over SHA-384 on P-384 (certificates).
    package func derSignature(of message: [UInt8]) throws(SigningError) -> [UInt8] {
        guard let signature = key.signature(of: message) else {
            throw SigningError(.openSSL, "OpenSSL could not sign")
        }
        return signature
    }

    /// ES256 signature: r‖s, 64 bytes.
    package func es256Signature(of message: [UInt8]) throws(SigningError) -> [UInt8] {
        guard curve == .p256 else { throw SigningError(.wrongCurve, "ES256 needs a key on P-256") }
        guard let raw = ECDSASignature.raw(fromDER: try derSignature(of: message), fieldSize: curve.fieldSize) else {
            throw SigningError(.openSSL, "OpenSSL wrote an unreadable signature")
        }
        return raw
    }
}
