internal import CCrypto
package import Time

/// Makes app receipts as the App Store, or Xcode, makes them: for simulators and tests.
package struct ReceiptBuilder: Sendable {
    /// The receipt's attributes, in order; purchases are attributes of type 17.
    package var attributes: [ReceiptAttribute] = []

    package init() {}

    // MARK: Content

    package static func text(_ type: Int64, _ text: String) -> ReceiptAttribute {
        ReceiptAttribute(type: type, value: DER.text(text))
    }

    /// A date as receipts have them: text, empty for none.
    package static func date(_ type: Int64, _ date: Timestamp?) -> ReceiptAttribute {
        // Whole seconds: 2026-11-30T02:14:38Z.
        let text = date.map { "\($0.rfc3339.prefix(19))Z" } ?? ""
        return ReceiptAttribute(type: type, value: DER.value(0x16, Array(text.utf8)))
    }

    package static func integer(_ type: Int64, _ number: UInt64) -> ReceiptAttribute {
        ReceiptAttribute(type: type, value: DER.integer(bytes(of: number)))
    }

    package static func purchase(_ attributes: [ReceiptAttribute]) -> ReceiptAttribute {
        ReceiptAttribute(type: 17, value: set(attributes))
    }

    /// The set of attributes that is signed.
    package var payload: [UInt8] { Self.set(attributes) }

    private static func set(_ attributes: [ReceiptAttribute]) -> [UInt8] {
        LongDER.value(
            0x31,
            attributes.flatMap { one in
                LongDER.value(
                    0x30,
                    DER.integer(bytes(of: UInt64(clamping: one.type)))
                        + DER.integer(bytes(of: UInt64(clamping: one.version))) + LongDER.value(0x04, one.value))
            })
    }

    private static func bytes(of number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
    }

    // MARK: Signature

    package enum Digest: String, Sendable { case sha1 = "SHA1", sha256 = "SHA256" }

    package struct Form: Sendable {
        package var digest = Digest.sha256
        /// Whether the digest is signed along with a date (as most software does it) instead of the content alone.
        package var hasSignedAttributes = true
        /// BER with indefinite lengths and pieces of octet strings, as Xcode writes it.
        package var isStreamed = false

        package init() {}
    }

    /// `content` signed by the first of `certificates` (DER), whose key is `key` (PKCS#8); all certificates are put in.
    package static func sign(
        _ content: [UInt8], certificates: [[UInt8]], key: [UInt8], form: Form = Form()
    ) throws(SigningError) -> [UInt8] {
        defer { ERR_clear_error() }
        let chain = Array(certificates.joined())
        let message = unsafe hf_cms_sign(
            content, Int32(clamping: content.count), chain, chain.count, key, key.count, form.digest.rawValue,
            form.hasSignedAttributes ? 1 : 0, form.isStreamed ? 1 : 0)
        guard let message = unsafe message else { throw SigningError(.openSSL, "OpenSSL could not sign the receipt") }
        defer { unsafe BIO_free(message) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe BIO_read(message, &chunk, Int32(chunk.count))
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(Int(count))
        }
    }

    /// The receipt signed by an authority of our own.
    package func signed(by authority: CertificateAuthority, form: Form = Form()) throws(SigningError) -> [UInt8] {
        guard let key = PEM.decode(try authority.leaf.key.pem(), label: "PRIVATE KEY")?.first else {
            throw SigningError(.unreadableKey, "the authority's key cannot be written")
        }
        return try Self.sign(payload, certificates: authority.chain, key: key, form: form)
    }
}

/// DER values of any length.
private enum LongDER {
    static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count > 0xFFFF else { return DER.value(tag, content) }
        let count = content.count
        return [tag, 0x84] + (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) } + content
    }
}
