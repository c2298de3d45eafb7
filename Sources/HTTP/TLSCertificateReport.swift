internal import CTLS
internal import Glibc
package import Time

/// What a certificate file holds, for whoever looks after it.
package struct TLSCertificateReport: Sendable, Hashable {
    package let subject: String
    package let notBefore: Timestamp
    package let notAfter: Timestamp
    /// Certificates behind the leaf in the file.
    package let intermediates: Int
    /// Nobody but its owner vouches for it.
    package let isSelfSigned: Bool

    /// Reads both files as a listener does; throws a sentence when they are unreadable or do not belong together.
    package init(_ certificate: HTTPServerSettings.Certificate) throws {
        self = try Self(TLSContext(certificate), from: certificate.chainFile)
    }

    /// What `context`, read from `file`, holds.
    init(_ context: TLSContext, from file: String) throws(TLSError) {
        self = unsafe try context.withContext { context throws(TLSError) in
            guard let leaf = unsafe SSL_CTX_get0_certificate(context),
                let notBefore = unsafe Self.instant(X509_get0_notBefore(leaf)),
                let notAfter = unsafe Self.instant(X509_get0_notAfter(leaf))
            else { throw TLSError(doing: "reading the dates of \(file)") }
            return unsafe TLSCertificateReport(
                subject: Self.name(leaf), notBefore: notBefore, notAfter: notAfter,
                intermediates: Int(holdfast_tls_chain_length(context)),
                isSelfSigned: X509_NAME_cmp(X509_get_subject_name(leaf), X509_get_issuer_name(leaf)) == 0)
        }
    }

    private init(
        subject: String, notBefore: Timestamp, notAfter: Timestamp, intermediates: Int, isSelfSigned: Bool
    ) {
        self.subject = subject
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.intermediates = intermediates
        self.isSelfSigned = isSelfSigned
    }

    private static func instant(_ time: UnsafePointer<ASN1_TIME>?) -> Timestamp? {
        var parts = unsafe tm()
        guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Timestamp(milliseconds: Int64(unsafe timegm(&parts)) &* 1000)
    }

    private static func name(_ certificate: OpaquePointer) -> String {
        var text = [CChar](repeating: 0, count: 512)
        guard unsafe X509_NAME_oneline(X509_get_subject_name(certificate), &text, Int32(text.count)) != nil else {
            return ""
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
