internal import JSON
internal import Time

/// The report as people read it.
extension VerificationReport {
    package var text: String {
        parts.map { $0.lines.joined(separator: "\n") }.joined(separator: "\n\n") + "\n\n"
            + (isFine
                ? "Everything is fine.\n"
                : lacksOnlyRevocation
                    ? "Nothing is wrong with it, but whether a certificate is revoked nobody could say.\n"
                    : "This is not fine.\n")
    }
}

extension VerificationReport.Part {
    fileprivate var lines: [String] {
        var lines = [title]
        for failure in problems { lines.append("  WRONG    \(failure.sentence) (\(failure.code.rawValue))") }
        for warning in warnings { lines.append("  warning  \(warning)") }
        lines += certificateLines
        guard let members = payload?.object?.members else { return lines }
        var rows: [(name: String, text: String)] = []
        for member in members {
            if let inner = member.value.object {
                rows += inner.members.map { ("\(member.key).\($0.key)", Self.shown($0.value, of: $0.key)) }
            } else {
                rows.append((member.key, Self.shown(member.value, of: member.key)))
            }
        }
        let width = min(40, rows.map(\.name.count).max() ?? 0)
        lines.append(problems.contains { $0.disposition == .refuse } ? "  claims (nobody vouches for them)" : "  says")
        return lines + rows.map { "    \(printable($0.name).padded(to: width))  \($0.text)" }
    }

    private var title: String {
        let what = kind?.phrase ?? "something of an unknown kind"
        let location = place.map { " in \($0)" } ?? ""
        let signer =
            isApples
            ? "signed by Apple" : isTrusted ? "signed under the given root, not Apple's" : "signed by nobody trusted"
        return "\(what)\(location), \(signer)"
    }

    private var certificateLines: [String] {
        guard !certificates.isEmpty else { return ["  no certificates"] }
        return [isTrusted ? "  certificates, up to the trusted root" : "  certificates in the header"]
            + certificates.enumerated().map { index, link in
                let days = "\(link.notBefore.rfc3339.prefix(10)) to \(link.notAfter.rfc3339.prefix(10))"
                let status = index < revocation.count ? "\n      revocation: \(printable("\(revocation[index])"))" : ""
                return "    \(link.subject)\n      valid \(days), SHA-256 \(link.fingerprint)\(status)"
            }
    }

    private static func shown(_ value: JSONValue, of key: String) -> String {
        switch value {
        case .string(let text) where text.utf8.count > 200: return "(\(text.utf8.count) bytes)"
        case .string(let text): return printable(text)
        case .number(let number):
            guard key.hasSuffix("Date"), let milliseconds = number.int64 else { return number.text }
            return "\(number.text) (\(Timestamp(milliseconds: milliseconds).rfc3339))"
        default:
            var writer = JSONWriter()
            writer.value(value)
            return printable(writer.text)
        }
    }
}

/// Foreign text made safe for a terminal.
private func printable(_ text: String) -> String {
    text.unicodeScalars.map { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) ? "\u{FFFD}" : String($0) }.joined()
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
