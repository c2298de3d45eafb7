internal import JSON
internal import Time

/// The report as scripts read it.
extension VerificationReport {
    /// One object: `fine`, and `parts`, each with its kind, signer, certificates, problems, warnings and payload.
    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("fine", isFine)
        writer.array("parts", parts) { writer, part in part.write(to: &writer) }
        writer.endObject()
        return writer.text
    }
}

extension VerificationReport.Part {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("place", place)
        writer.member("kind", kind?.rawValue)
        writer.member("trusted", isTrusted)
        writer.member("apple", isApples)
        writer.array("problems", problems) { writer, failure in
            writer.beginObject()
            writer.member("code", failure.code.rawValue)
            writer.member("sentence", failure.sentence)
            writer.member("disposition", failure.disposition.rawValue)
            writer.endObject()
        }
        writer.array("warnings", warnings) { writer, warning in writer.string(warning.description) }
        let certificates = self.certificates.enumerated().map { index, link in
            (link, index < revocation.count ? revocation[index] : nil)
        }
        writer.array("certificates", certificates) { writer, certificate in
            let (link, status) = certificate
            writer.beginObject()
            writer.member("subject", link.subject)
            writer.member("issuer", link.issuer)
            writer.member("notBefore", link.notBefore.rfc3339)
            writer.member("notAfter", link.notAfter.rfc3339)
            writer.member("sha256", link.fingerprint)
            if let status {
                writer.object("revocation") {
                    $0.member("result", status.code)
                    $0.member("detail", status.description)
                }
            }
            writer.endObject()
        }
        writer.member("payload", payload ?? .null)
        writer.endObject()
    }
}
