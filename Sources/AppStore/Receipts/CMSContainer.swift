internal import CCrypto

/// The CMS (PKCS#7) message around an app receipt, read by OpenSSL, which takes DER and BER.
@safe
struct CMSContainer: ~Copyable {
    private let pointer: OpaquePointer

    init(_ bytes: [UInt8]) throws(ReceiptFailure) {
        unsafe pointer = unsafe try Self.parse(bytes)
    }

    deinit { unsafe CMS_ContentInfo_free(pointer) }

    private static func parse(_ bytes: [UInt8]) throws(ReceiptFailure) -> OpaquePointer {
        defer { ERR_clear_error() }
        try checkLength(of: bytes)
        let (parsed, isWhole) = unsafe bytes.withUnsafeBufferPointer { bytes -> (OpaquePointer?, Bool) in
            var position = bytes.baseAddress
            let parsed = unsafe d2i_CMS_ContentInfo(nil, &position, bytes.count)
            return unsafe (parsed, position == bytes.baseAddress.map { unsafe $0 + bytes.count })
        }
        guard let parsed = unsafe parsed else {
            throw ReceiptFailure(.malformed, "it is not a CMS (PKCS#7) message, as receipts are")
        }
        let type = unsafe OBJ_obj2nid(CMS_get0_type(parsed))
        guard isWhole, type == NID_pkcs7_signed else {
            unsafe CMS_ContentInfo_free(parsed)
            guard isWhole else { throw ReceiptFailure(.malformed, "there is something after its end") }
            let name = unsafe OBJ_nid2ln(type).map { unsafe String(cString: $0) } ?? "of an unknown type"
            throw ReceiptFailure(
                .wrongContainer, "it is a CMS message, but not of signed data as receipts are (\(name))")
        }
        return unsafe parsed
    }

    /// Tells what was cut off from what was never right.
    private static func checkLength(of bytes: [UInt8]) throws(ReceiptFailure) {
        let cut = "it is cut off: "
        guard bytes.count >= 2 else { throw ReceiptFailure(.truncated, cut + "it has \(bytes.count) bytes") }
        let count = Int(bytes[1] & 0x7F)
        guard bytes[1] >= 0x80, count <= 4 else { return }
        guard count > 0 else {
            var reader = BERReader(bytes[...])
            guard reader.next() != nil else {
                throw ReceiptFailure(.truncated, cut + "the mark at its end is missing")
            }
            return
        }
        guard bytes.count >= 2 + count else { throw ReceiptFailure(.truncated, cut + "it has \(bytes.count) bytes") }
        let length = bytes[2..<(2 + count)].reduce(0) { $0 << 8 | Int($1) } + 2 + count
        guard length <= bytes.count else {
            throw ReceiptFailure(.truncated, cut + "it says that it has \(length) bytes, but has \(bytes.count)")
        }
    }

    /// What is signed.
    func content() throws(ReceiptFailure) -> [UInt8] {
        defer { ERR_clear_error() }
        guard unsafe OBJ_obj2nid(CMS_get0_eContentType(pointer)) == NID_pkcs7_data,
            let place = unsafe CMS_get0_content(pointer), let octets = unsafe place.pointee
        else { throw ReceiptFailure(.malformed, "there is no data in the CMS message") }
        let count = Int(unsafe ASN1_STRING_length(octets))
        return unsafe Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(octets), count: max(0, count)))
    }

    /// Certificates that came with it: more than a chain has, and few enough to try all.
    private static let certificateLimit: Int32 = 10

    /// The certificates, and which of them the only signer names.
    func certificates() throws(ReceiptFailure) -> (all: [Certificate], signer: Int) {
        defer { ERR_clear_error() }
        guard unsafe hf_cms_signer_count(pointer) == 1 else {
            throw ReceiptFailure(.certificate, "it does not have exactly one signer")
        }
        let count = unsafe hf_cms_certificate_count(pointer)
        guard 1...Self.certificateLimit ~= count else {
            throw ReceiptFailure(.certificate, "\(count) certificates came with it, 1 to 10 are looked at")
        }
        var all: [Certificate] = []
        for index in 0..<count {
            let der = unsafe encodedDER { unsafe hf_cms_certificate_der(pointer, index, $0) }
            guard let certificate = der.flatMap(Certificate.init(der:)) else {
                throw ReceiptFailure(.certificate, "certificate \(index + 1) cannot be read")
            }
            all.append(certificate)
        }
        let signer = unsafe hf_cms_signer_certificate(pointer)
        guard signer >= 0 else {
            throw ReceiptFailure(.certificate, "the signer's certificate did not come with it")
        }
        return (all, Int(signer))
    }

    /// The digest that was signed, if it is one that Apple used or may use.
    func digest() -> String? {
        let allowed = [NID_sha1: "SHA-1", NID_sha256: "SHA-256", NID_sha384: "SHA-384", NID_sha512: "SHA-512"]
        return unsafe allowed[hf_cms_signer_digest(pointer)]
    }

    /// Whether the certificate at `signer`, and no other, signed the content.
    func isSigned(by signer: Int) -> Bool {
        defer { ERR_clear_error() }
        return unsafe hf_cms_is_signed_by(pointer, Int32(clamping: signer)) == 1
    }
}
