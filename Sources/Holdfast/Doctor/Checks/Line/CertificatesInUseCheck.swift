import Gateway
import HTTP
import Runtime
import Time

/// What the gateway shows and sees, which need not be what lies in the files: the certificate that it has read, and those
/// that Apple signs with at present.
struct CertificatesInUseCheck: Check {
    let name = "certificates in use"
    let patient: Patient

    func examine() async -> Finding {
        let address = patient.settings.gateway.operations.address
        guard let url = ListenerCheck.url(address) else { return .notChecked("it takes any free port (\(address))") }
        let response: HTTPClientResponse
        do throws(HTTPClientError) {
            response = try await patient.http.send(HTTPClientRequest(.get, "\(url)/metrics"))
        } catch { return .notChecked("no gateway answers at \(address)") }
        guard response.status == 200 else { return .notChecked("\(url)/metrics answers \(response.status)") }
        let ends = Self.ends(in: String(decoding: response.body, as: UTF8.self))
        let now = patient.clock.now()
        var findings: [Finding] = []
        var sentences: [String] = []
        let http = patient.settings.gateway.http
        if let shown = ends[http.name], let file = http.certificate.flatMap({ try? TLSCertificateReport($0) }) {
            sentences.append("\(http.name) shows the one of its file")
            if shown.day != file.notAfter.day {
                findings.append(
                    .warning(
                        "\(http.name) shows a certificate that ends on \(shown.day), its file one that ends on "
                            + file.notAfter.day, "Send the gateway SIGHUP: it reads its certificate again."))
            }
        }
        for kind in ["intermediate", "leaf"] {
            guard let end = ends[kind] else { continue }
            sentences.append("Apple's \(kind) until \(end.day)")
            if end < now {
                findings.append(
                    .warning(
                        "Apple's \(kind) that came last ended on \(end.day)",
                        "What is signed after its end is refused. holdfast verify says of any payload what is wrong."))
            }
        }
        guard !sentences.isEmpty else { return .notChecked("the gateway has seen nothing of Apple's yet") }
        return .of(findings, otherwise: sentences.joined(separator: "; "))
    }

    /// When the certificates end, by listener or kind.
    static func ends(in metrics: String) -> [String: Timestamp] {
        var ends: [String: Timestamp] = [:]
        for line in metrics.split(separator: "\n") {
            guard
                line.hasPrefix("holdfast_tls_certificate_end_timestamp_seconds{")
                    || line.hasPrefix("holdfast_apple_certificate_end_timestamp_seconds{")
            else { continue }
            let parts = line.split(separator: "\"")
            guard parts.count == 3, let value = parts[2].split(separator: " ").last.flatMap({ Double($0) }),
                let seconds = Int64(exactly: value.rounded(.down)), 0...253_402_300_799 ~= seconds
            else { continue }
            ends[String(parts[1])] = Timestamp(milliseconds: seconds * 1000)
        }
        return ends
    }
}
