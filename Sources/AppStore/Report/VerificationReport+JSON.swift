internal import Entitlements
internal import JSON
internal import Time

/// The report as scripts read it.
extension VerificationReport {
    /// One object: `fine`, `effect`, what the notification means, and `parts`, each with its kind, signer, certificates, problems, warnings, members
    /// and payload.
    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("fine", isFine)
        writer.key("effect")
        if let effect { effect.write(to: &writer) } else { writer.null() }
        writer.key("notification")
        if effect != nil, let row { row.write(to: &writer) } else { writer.null() }
        writer.array("parts", parts) { writer, part in part.write(to: &writer) }
        writer.endObject()
        return writer.text
    }
}

extension VerificationReport.Effect {
    fileprivate func write(to writer: inout JSONWriter) {
        let (name, lineage): (String, (StoreEnvironment, String)?) =
            switch self {
            case .applied(let environment, let id): ("applied", (environment, id))
            case .noted: ("noted", nil)
            case .transaction(let environment, let id): ("transaction", (environment, id))
            case .renewalInfo(let environment, let id): ("renewalInfo", (environment, id))
            }
        writer.beginObject()
        writer.member("name", name)
        writer.member("environment", lineage?.0.rawValue)
        writer.member("originalTransactionId", lineage?.1)
        writer.endObject()
    }
}

extension NotificationRow {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("documented", isDocumented)
        writer.member("meaning", meaning)
        writer.member("cause", cause.rawValue)
        writer.member("event", event.rawValue)
        writer.endObject()
    }
}

extension VerificationReport.Part {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("place", place)
        writer.member("kind", kind?.rawValue)
        writer.member("signer", signer.rawValue)
        writer.member("trusted", signer == .apple || signer == .givenRoot)
        writer.member("apple", signer == .apple)
        writer.array("problems", problems) { writer, failure in
            writer.beginObject()
            writer.member("code", failure.code.rawValue)
            writer.member("part", failure.part.rawValue)
            writer.member("sentence", failure.sentence)
            writer.member("disposition", failure.disposition.rawValue)
            writer.member("retryable", failure.isRetryable)
            writer.endObject()
        }
        writer.array("hints", hints) { writer, hint in writer.string(hint) }
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
        writer.array("members", fields) { writer, field in
            writer.beginObject()
            writer.member("name", field.name)
            writer.member("value", field.value)
            writer.member("meaning", field.meaning)
            writer.member("known", field.isKnown)
            writer.endObject()
        }
        writer.member("payload", payload ?? .null)
        writer.endObject()
    }
}
