internal import CCrypto
internal import Time

/// Judges a responder's answer (RFC 6960, section 3.2), every rule in plain sight and with a failure of its own.
struct OCSPResponseCheck {
    let request: OCSPRequest
    /// Who issued the certificate that was asked about.
    let issuer: Certificate
    /// How far the responder's clock and ours may lie apart.
    let skew: Duration

    /// More certificates than this in an answer are not looked at: responders send one.
    private static let certificateLimit: Int32 = 4
    private static let digests = [
        NID_ecdsa_with_SHA256, NID_ecdsa_with_SHA384, NID_ecdsa_with_SHA512, NID_sha256WithRSAEncryption,
        NID_sha384WithRSAEncryption, NID_sha512WithRSAEncryption,
    ]

    /// What `bytes` say, if they can be believed at `now`.
    func answer(in bytes: [UInt8], now: Timestamp) throws(OCSPFailure) -> OCSPAnswer {
        defer { ERR_clear_error() }
        let response = try BasicResponse(der: bytes)
        guard isSigned(response, now: now) else {
            throw OCSPFailure(
                .signer, "the answer was signed neither by the issuer nor by a responder that the issuer made")
        }
        guard unsafe request.isAnswered(by: response.pointer) else {
            throw OCSPFailure(.nonce, "the answer carries another nonce than the question")
        }
        let answer = try unsafe response.single(about: request.identifier)
        guard answer.thisUpdate <= now + skew else {
            throw OCSPFailure(.future, "the answer is dated \(answer.thisUpdate.rfc3339), ahead of the clock")
        }
        guard answer.nextUpdate >= now - skew else {
            throw OCSPFailure(.stale, "the answer was good until \(answer.nextUpdate.rfc3339) only")
        }
        guard answer.nextUpdate >= answer.thisUpdate else {
            throw OCSPFailure(.stale, "the answer ends before it begins")
        }
        return answer
    }

    /// Whether the issuer signed, or a responder certificate that the issuer made for this and that is valid now. Nobody
    /// asks whether the responder's certificate was revoked in turn: such certificates live for weeks.
    private func isSigned(_ response: borrowing BasicResponse, now: Timestamp) -> Bool {
        guard let algorithm = response.signatureAlgorithm, Self.digests.contains(algorithm) else { return false }
        if response.isSigned(by: issuer) { return true }
        guard let issuerKey = issuer.key else { return false }
        for index in 0..<min(response.certificateCount, Self.certificateLimit) {
            guard let signer = response.certificate(index), signer.namesAsIssuer(issuer), signer.maySignOCSP,
                signer.hasStrongKey, now >= signer.notBefore - skew, now <= signer.notAfter + skew,
                response.isSigned(by: signer), signer.isSigned(by: issuerKey)
            else { continue }
            return true
        }
        return false
    }
}

/// Owns one successful answer.
@safe
private struct BasicResponse: ~Copyable {
    let pointer: OpaquePointer

    /// Reads one OCSPResponse and nothing behind it.
    init(der: [UInt8]) throws(OCSPFailure) {
        let (parsed, isWhole) = unsafe der.withUnsafeBufferPointer { bytes -> (OpaquePointer?, Bool) in
            var position = bytes.baseAddress
            let parsed = unsafe d2i_OCSP_RESPONSE(nil, &position, bytes.count)
            return unsafe (parsed, position == bytes.baseAddress.map { unsafe $0 + bytes.count })
        }
        guard let response = unsafe parsed else { throw OCSPFailure(.malformed, "what came back is no OCSP answer") }
        defer { unsafe OCSP_RESPONSE_free(response) }
        guard isWhole else { throw OCSPFailure(.malformed, "something follows the OCSP answer") }
        let status = unsafe OCSP_response_status(response)
        guard status == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            throw OCSPFailure(.declined, "the responder declined: \(Self.name(ofStatus: status))")
        }
        guard let basic = unsafe OCSP_response_get1_basic(response) else {
            throw OCSPFailure(.malformed, "the OCSP answer is of an unknown type")
        }
        unsafe pointer = unsafe basic
    }

    deinit { unsafe OCSP_BASICRESP_free(pointer) }

    private static func name(ofStatus status: Int32) -> String {
        switch status {
        case OCSP_RESPONSE_STATUS_MALFORMEDREQUEST: "malformedRequest"
        case OCSP_RESPONSE_STATUS_INTERNALERROR: "internalError"
        case OCSP_RESPONSE_STATUS_TRYLATER: "tryLater"
        case OCSP_RESPONSE_STATUS_SIGREQUIRED: "sigRequired"
        case OCSP_RESPONSE_STATUS_UNAUTHORIZED: "unauthorized"
        default: "status \(status)"
        }
    }

    // MARK: Who signed

    var signatureAlgorithm: Int32? {
        guard let algorithm = unsafe OCSP_resp_get0_tbs_sigalg(pointer) else { return nil }
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, algorithm)
        return unsafe OBJ_obj2nid(object)
    }

    var certificateCount: Int32 { unsafe hf_ocsp_certificate_count(pointer) }

    func certificate(_ index: Int32) -> Certificate? {
        guard let certificate = unsafe hf_ocsp_certificate(pointer, index),
            let der = unsafe encodedDER({ unsafe i2d_X509(certificate, $0) })
        else { return nil }
        return Certificate(der: der)
    }

    func isSigned(by certificate: Certificate) -> Bool {
        unsafe hf_ocsp_is_signed_by(pointer, certificate.pointer) == 1
    }

    // MARK: What it says

    /// The one answer about the certificate that `identifier` names: serial, issuer's name and issuer's key must fit.
    func single(about identifier: OpaquePointer) throws(OCSPFailure) -> OCSPAnswer {
        let index = unsafe OCSP_resp_find(pointer, identifier, -1)
        guard index >= 0, let single = unsafe OCSP_resp_get0(pointer, index) else {
            throw OCSPFailure(.otherCertificate, "the answer is about another certificate")
        }
        guard unsafe OCSP_resp_find(pointer, identifier, index) < 0 else {
            throw OCSPFailure(.malformed, "the answer speaks of the same certificate twice")
        }
        var reason: Int32 = -1
        var revoked: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let status = unsafe OCSP_single_get0_status(single, &reason, &revoked, &thisUpdate, &nextUpdate)
        guard let begin = try unsafe Self.instant(thisUpdate) else {
            throw OCSPFailure(.malformed, "the answer has no date")
        }
        guard let end = try unsafe Self.instant(nextUpdate) else {
            throw OCSPFailure(.stale, "the answer does not say until when it is good")
        }
        let verdict: OCSPAnswer.Verdict
        switch status {
        case V_OCSP_CERTSTATUS_GOOD: verdict = .good
        case V_OCSP_CERTSTATUS_UNKNOWN: verdict = .unknown
        case V_OCSP_CERTSTATUS_REVOKED:
            guard let at = try unsafe Self.instant(revoked) else {
                throw OCSPFailure(.malformed, "the answer does not say when the certificate was revoked")
            }
            verdict = .revoked(at: at, reason: RevocationReason(code: reason < 0 ? nil : Int(reason)))
        default: throw OCSPFailure(.malformed, "the answer has no verdict")
        }
        return OCSPAnswer(verdict: verdict, thisUpdate: begin, nextUpdate: end)
    }

    /// Nil when there is no date; a date of at most four digits of year, so that the product cannot overflow.
    private static func instant(
        _ time: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
    ) throws(OCSPFailure) -> Timestamp? {
        guard let time = unsafe time else { return nil }
        guard let seconds = unsafe Certificate.seconds(time) else {
            throw OCSPFailure(.malformed, "a date in the answer cannot be read")
        }
        return Timestamp(milliseconds: seconds &* 1000)
    }
}
