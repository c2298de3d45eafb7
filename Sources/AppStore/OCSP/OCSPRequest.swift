internal import CCrypto

/// The question whether one certificate is revoked (RFC 6960, section 4.1): unsigned, by SHA-1, which only names the
/// certificate here and is what Apple's responder and most others know.
///
/// `@unchecked Sendable`: OpenSSL's request is not changed after `init`.
@safe
final class OCSPRequest: @unchecked Sendable {
    private let request: OpaquePointer
    /// Names the certificate; belongs to the request.
    let identifier: OpaquePointer
    let der: [UInt8]

    /// Nil when OpenSSL has no memory or no random bytes. A nonce keeps an answer from being a replayed one; most
    /// responders answer from a store and leave it out.
    init?(about certificate: Certificate, issuedBy issuer: Certificate, withNonce: Bool) {
        defer { ERR_clear_error() }
        guard let request = unsafe OCSP_REQUEST_new() else { return nil }
        guard let identifier = unsafe OCSP_cert_to_id(EVP_sha1(), certificate.pointer, issuer.pointer) else {
            unsafe OCSP_REQUEST_free(request)
            return nil
        }
        guard unsafe OCSP_request_add0_id(request, identifier) != nil else {
            unsafe OCSP_CERTID_free(identifier)
            unsafe OCSP_REQUEST_free(request)
            return nil
        }
        let hasNonce = withNonce ? unsafe OCSP_request_add1_nonce(request, nil, -1) == 1 : true
        guard hasNonce, let der = unsafe encodedDER({ unsafe i2d_OCSP_REQUEST(request, $0) }) else {
            unsafe OCSP_REQUEST_free(request)
            return nil
        }
        unsafe self.request = unsafe request
        unsafe self.identifier = unsafe identifier
        self.der = der
    }

    deinit { unsafe OCSP_REQUEST_free(request) }

    /// Whether the nonce in `answer` is the one that was sent, or there is none in it.
    func isAnswered(by answer: OpaquePointer) -> Bool {
        // 1 both and the same, 2 neither, -1 only asked; 0 both and different, 3 only answered.
        [1, 2, -1].contains(unsafe OCSP_check_nonce(request, answer))
    }
}
