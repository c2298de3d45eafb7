import AppStore
import Runtime
import Time

/// Which roots are trusted to sign for Apple, and until when.
struct RootsCheck: Check {
    let name = "trusted roots"
    let isRemote = false
    let patient: Patient

    func examine() async -> Finding {
        var findings: [Finding] = []
        for file in patient.files where file.setting == "appStore.roots" {
            do {
                _ = try TrustedRoots(file: try File.regularBytes(at: file.path, limit: 1 << 20))
            } catch {
                findings.append(
                    .wrong(
                        "\(file.path): \(error)",
                        "Apple's root is built in: leave appStore.roots out, or name a whole certificate in PEM or DER."
                    ))
            }
        }
        let roots = patient.settings.appStore.roots.descriptions
        if roots.isEmpty { findings.append(.wrong("no root is trusted: every notification is refused")) }
        let now = patient.clock.now()
        for root in roots {
            if let finding = Expiry(notBefore: root.notBefore, notAfter: root.notAfter).finding(
                "root \(root.subject)", at: now)
            {
                findings.append(finding)
            }
            guard !root.isApples else { continue }
            let subject = root.subject.split(separator: ",").first.map(String.init) ?? root.subject
            findings.append(
                .warning(
                    "NOT APPLE'S ROOT IS TRUSTED: \(subject). Whoever has its key can grant anything",
                    "For a simulator only. Take appStore.roots out wherever real customers are served."))
        }
        let end = roots.map(\.notAfter).min()?.day ?? "never"
        return .of(findings, otherwise: "Apple Root CA - G3, until \(end)")
    }
}

/// How near the end of a certificate is.
struct Expiry {
    let notBefore: Timestamp
    let notAfter: Timestamp

    /// Nil while there is nothing to do. Renewals usually happen in the last 30 days.
    func finding(_ what: String, at now: Timestamp) -> Finding? {
        if now < notBefore {
            return .wrong("\(what) is not valid before \(notBefore.day)", "Look at this machine's clock first.")
        }
        if now > notAfter { return .wrong("\(what) ended on \(notAfter.day)", "Renew it.") }
        let days = (notAfter - now) / .seconds(86_400)
        guard days < 21 else { return nil }
        return .warning("\(what) ends on \(notAfter.day), in \(Int64(days)) days", "Renew it now.")
    }
}

extension Timestamp {
    /// `2026-11-30`.
    var day: String { String(rfc3339.prefix(10)) }
}
