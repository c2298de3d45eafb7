internal import Entitlements
internal import JSON
internal import Runtime
internal import Time

/// The report as people read it.
extension VerificationReport {
    package var text: String {
        var lines = parts.flatMap { $0.lines + [""] }
        if let effect { lines.append(effect.sentence) }
        if effect != nil, let row { lines.append("\(row.meaning) It leads to the event \(row.event.rawValue).") }
        lines.append(verdict)
        return lines.map { $0.printable(limit: PayloadField.longestLine) + "\n" }.joined()
    }

    private var verdict: String {
        guard isFine else {
            return lacksOnlyRevocation
                ? "Nothing is wrong with it, but whether a certificate is revoked nobody could say."
                : "This is not fine."
        }
        return parts.allSatisfy { $0.signer == .localTest }
            ? "This is proper data of a local test. It proves nothing: anybody can make it." : "Everything is fine."
    }
}

extension VerificationReport.Effect {
    fileprivate var sentence: String {
        switch self {
        case .applied(let environment, let id):
            "It is about the lineage \(id) (\(environment.rawValue)), and would be applied to it."
        case .noted: "It is about no purchase, and would be noted."
        case .transaction(let environment, let id):
            "It is about the lineage \(id) (\(environment.rawValue))."
        case .renewalInfo(let environment, let id):
            "It says how the lineage \(id) (\(environment.rawValue)) goes on, and counts only beside a transaction."
        }
    }
}

extension VerificationReport.Part {
    fileprivate var lines: [String] {
        var lines = [title]
        for failure in problems { lines.append("  WRONG    \(failure.sentence) (\(failure.code.rawValue))") }
        for warning in warnings { lines.append("  warning  \(warning.description)") }
        for hint in hints { lines.append("  hint     \(hint)") }
        lines += certificateLines
        let rows = fields.map { (name: $0.name, text: $0.shown) }
        guard !rows.isEmpty else { return lines + payloadLines }
        let width = min(48, rows.map(\.name.count).max() ?? 0)
        lines.append(vouching)
        return lines + rows.map { "    \($0.name.padded(to: width))  \($0.text)" }
    }

    /// A payload of no known kind, as it stands.
    private var payloadLines: [String] {
        guard let payload else { return [] }
        var writer = JSONWriter()
        writer.value(payload)
        return [
            vouching,
            "    \(writer.text.utf8.count > 2000 ? "(\(writer.text.utf8.count) bytes)" : writer.text)",
        ]
    }

    private var vouching: String {
        problems.contains { $0.disposition == .refuse } || signer == .localTest || signer == .nobody
            ? "  claims (nobody vouches for them)" : "  says"
    }

    private var title: String {
        let what = kind?.phrase ?? "something of an unknown kind"
        let location = place.map { " in \($0)" } ?? ""
        let signer =
            switch signer {
            case .apple: "signed by Apple"
            case .givenRoot: "signed under the given root, not Apple's"
            case .localTest: "signed by Xcode or another local test, not by Apple"
            case .nobody: "signed by nobody trusted"
            }
        return "\(what)\(location), \(signer)"
    }

    private var certificateLines: [String] {
        guard !certificates.isEmpty else { return ["  no certificates"] }
        let isTrusted = signer == .apple || signer == .givenRoot
        return [isTrusted ? "  certificates, up to the trusted root" : "  certificates in the header"]
            + certificates.enumerated().flatMap { index, link in
                let days = "\(link.notBefore.rfc3339.prefix(10)) to \(link.notAfter.rfc3339.prefix(10))"
                let status = index < revocation.count ? ["      revocation: \(revocation[index])"] : []
                return ["    \(link.subject)", "      valid \(days), SHA-256 \(link.fingerprint)"] + status
            }
    }
}

extension VerificationReport.Part {
    /// What whoever asked may have meant, when something is wrong with it; in terms of `holdfast verify`.
    package var hints: [String] {
        guard !problems.isEmpty else { return [] }
        var hints: [String] = []
        if signer == .localTest {
            hints.append("a local test signs with one certificate of its own: --xcode reads such data")
        }
        if problems.contains(where: { $0.sentence.hasSuffix(ChainCheck.unknownRoot) }) {
            hints.append("if that root is to count, such as a simulator's root.pem: --root FILE")
        }
        return hints
    }
}

extension PayloadField {
    static let longestLine = 4000

    /// The value and what it means, for people; not yet fit for a terminal.
    package var shown: String {
        let text = value.utf8.count > 200 ? "(\(value.utf8.count) bytes)" : value
        guard isKnown else { return "\(text)  (not known to this version)" }
        return meaning.map { "\(text)  (\($0))" } ?? text
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
