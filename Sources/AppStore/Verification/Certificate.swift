internal import CCrypto
internal import Glibc
internal import Time

/// One X.509 certificate, read by OpenSSL; freed with the last reference.
///
/// `@unchecked Sendable`: nothing changes an `X509` here after `init`, which also makes OpenSSL fill its lazy cache of
/// extensions, and its reference count is atomic.
@safe
final class Certificate: @unchecked Sendable {
    let pointer: OpaquePointer
    let flags: UInt32

    let notBefore: Timestamp
    /// The last instant of validity: certificates end with their last second.
    let notAfter: Timestamp

    /// Nil unless `der` is one certificate and nothing else, with dates and extensions that can be read.
    init?(der: [UInt8]) {
        defer { ERR_clear_error() }
        let (parsed, isWhole) = unsafe der.withUnsafeBufferPointer { bytes -> (OpaquePointer?, Bool) in
            var position = bytes.baseAddress
            let parsed = unsafe d2i_X509(nil, &position, bytes.count)
            return unsafe (parsed, position == bytes.baseAddress.map { unsafe $0 + bytes.count })
        }
        guard let parsed = unsafe parsed else { return nil }
        let flags = unsafe X509_get_extension_flags(parsed)
        guard isWhole, flags & UInt32(EXFLAG_INVALID) == 0,
            let notBefore = unsafe Self.seconds(X509_get0_notBefore(parsed)),
            let notAfter = unsafe Self.seconds(X509_get0_notAfter(parsed))
        else {
            unsafe X509_free(parsed)
            return nil
        }
        unsafe self.pointer = unsafe parsed
        self.flags = flags
        self.notBefore = Timestamp(milliseconds: notBefore &* 1000)
        self.notAfter = Timestamp(milliseconds: notAfter &* 1000 &+ 999)
    }

    deinit { unsafe X509_free(pointer) }

    /// A date that OpenSSL can read has a year of at most four digits, so the product above cannot overflow.
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = unsafe tm()
        guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Int64(unsafe timegm(&parts))
    }

    private var usage: UInt32 { unsafe X509_get_key_usage(pointer) }

    /// Whether it says that it may sign certificates.
    var isAuthority: Bool { flags & UInt32(EXFLAG_CA) != 0 }
    /// Whether it allows that an authority stands between it and a leaf.
    var allowsIntermediate: Bool { unsafe X509_get_pathlen(pointer) != 0 }
    /// Whether it says which uses it has, without this one among them.
    var forbidsSigningCertificates: Bool { usage & UInt32(X509v3_KU_KEY_CERT_SIGN) == 0 }
    var forbidsSigningData: Bool { usage & UInt32(X509v3_KU_DIGITAL_SIGNATURE) == 0 }

    /// The public key, if it is on P-256 or P-384.
    var key: Key? {
        defer { ERR_clear_error() }
        return unsafe Key(taking: X509_get_pubkey(pointer))
    }

    var subject: String { unsafe Self.text(of: X509_get_subject_name(pointer)) }
    var issuer: String { unsafe Self.text(of: X509_get_issuer_name(pointer)) }

    private static func text(of name: OpaquePointer?) -> String {
        var text = [CChar](repeating: 0, count: 1024)
        let length = unsafe hf_name_text(name, &text, Int32(text.count))
        ERR_clear_error()
        return String(decoding: text.prefix(Int(max(0, length))).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// SHA-256 of the DER form, in hexadecimal.
    var fingerprint: String {
        SHA256.hexadecimal(unsafe encodedDER { unsafe i2d_X509(pointer, $0) } ?? [])
    }

    // MARK: Extensions

    func carries(_ identifier: ObjectIdentifier) -> Bool {
        extensions { $0 == identifier }
    }

    /// Whether something is marked as critical that is not understood here.
    ///
    /// Basic constraints and key usage are enforced. Extended key usage and policies narrow what a certificate is
    /// for; for the App Store's purpose Apple's markers say that, so they are let pass, as Apple's own libraries do.
    var hasUnknownCriticalExtension: Bool {
        let understood = [ObjectIdentifier.basicConstraints, .keyUsage, .extendedKeyUsage, .certificatePolicies]
        return extensions(critical: true) { !understood.contains($0) }
    }

    private func extensions(critical: Bool = false, contain matches: (ObjectIdentifier) -> Bool) -> Bool {
        for index in 0..<(unsafe X509_get_ext_count(pointer)) {
            guard let one = unsafe X509_get_ext(pointer, index) else { continue }
            if critical, unsafe X509_EXTENSION_get_critical(one) == 0 { continue }
            guard let object = unsafe X509_EXTENSION_get_object(one), let data = unsafe OBJ_get0_data(object) else {
                continue
            }
            let content = unsafe Array(UnsafeBufferPointer(start: data, count: OBJ_length(object)))
            if matches(ObjectIdentifier(content: content)) { return true }
        }
        return false
    }

    // MARK: Issuing

    /// Whether names, key identifiers and uses allow that `issuer` issued this; says nothing about the signature.
    func namesAsIssuer(_ issuer: Certificate) -> Bool {
        defer { ERR_clear_error() }
        return unsafe X509_check_issued(issuer.pointer, pointer) == X509_V_OK
    }

    /// Whether it carries a signature by `key`: ECDSA with SHA-256 or more, nothing older.
    func isSigned(by key: Key) -> Bool {
        defer { ERR_clear_error() }
        let allowed = [NID_ecdsa_with_SHA256, NID_ecdsa_with_SHA384, NID_ecdsa_with_SHA512]
        guard unsafe allowed.contains(X509_get_signature_nid(pointer)) else { return false }
        return unsafe X509_verify(pointer, key.pointer) == 1
    }

    /// Whether it carries a signature by the key of `issuer` such as the chains of app receipts have: those are older,
    /// with RSA and, until 2023, SHA-1.
    func isSignedForReceipts(by issuer: Certificate) -> Bool {
        defer { ERR_clear_error() }
        let allowed = [
            NID_sha1WithRSAEncryption, NID_sha256WithRSAEncryption, NID_sha384WithRSAEncryption,
            NID_sha512WithRSAEncryption, NID_ecdsa_with_SHA256, NID_ecdsa_with_SHA384, NID_ecdsa_with_SHA512,
        ]
        guard unsafe allowed.contains(X509_get_signature_nid(pointer)), issuer.hasKeyForReceipts else { return false }
        return unsafe X509_verify(pointer, X509_get0_pubkey(issuer.pointer)) == 1
    }

    /// Whether its key is RSA of at least 2048 bits or on one of Apple's curves.
    var hasKeyForReceipts: Bool {
        defer { ERR_clear_error() }
        guard let key = unsafe X509_get0_pubkey(pointer) else { return false }
        if unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA { return unsafe EVP_PKEY_get_bits(key) >= 2048 }
        return self.key != nil
    }
}

/// The content of an ASN.1 object identifier.
struct ObjectIdentifier: Hashable {
    let content: [UInt8]

    init(content: [UInt8]) { self.content = content }
    init(_ arcs: [UInt64]) { content = Array(DER.objectIdentifier(arcs).dropFirst(2)) }

    static let basicConstraints = ObjectIdentifier([2, 5, 29, 19])
    static let keyUsage = ObjectIdentifier([2, 5, 29, 15])
    static let extendedKeyUsage = ObjectIdentifier([2, 5, 29, 37])
    static let certificatePolicies = ObjectIdentifier([2, 5, 29, 32])
    static let appleLeafMarker = ObjectIdentifier(AppleMarker.leaf)
    static let appleIntermediateMarker = ObjectIdentifier(AppleMarker.intermediate)
}
