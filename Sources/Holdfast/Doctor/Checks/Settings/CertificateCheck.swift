import HTTP
import Runtime
import Time

/// Whether the certificate of a listener is good for a while and belongs to its key.
struct CertificateCheck: Check {
    let name: String
    let isRemote = false
    let certificate: HTTPServerSettings.Certificate
    let patient: Patient
    /// Whether Apple is to trust it.
    let isPublic: Bool

    func examine() async -> Finding {
        let report: TLSCertificateReport
        do { report = try TLSCertificateReport(certificate) } catch {
            return .wrong(
                "\(error)",
                "Both files in PEM, the leaf first and its intermediates after it, the key without a passphrase.")
        }
        var findings: [Finding] = []
        let expiry = Expiry(notBefore: report.notBefore, notAfter: report.notAfter)
        if let finding = expiry.finding("\(certificate.chainFile) (\(report.subject))", at: patient.clock.now()) {
            findings.append(finding)
        }
        if isPublic, report.isSelfSigned {
            findings.append(
                .warning(
                    "\(certificate.chainFile) is signed by itself: Apple refuses it (TLS_ISSUE)",
                    "Take one from a public authority, or let a proxy in front have one."))
        } else if isPublic, report.intermediates == 0 {
            findings.append(
                .warning(
                    "\(certificate.chainFile) holds the leaf alone: Apple may not find who vouches for it (TLS_ISSUE)",
                    "Put the intermediates behind the leaf (fullchain.pem)."))
        }
        return .of(findings, otherwise: "\(report.subject), until \(report.notAfter.day); the key matches")
    }
}
