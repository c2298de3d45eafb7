extension TemporaryFolder {
    /// Makes a self-signed certificate and its key in the folder, good for `alternative` alone if that is given (as in
    /// `IP:127.0.0.1`).
    /// It ends after `days`.
    package func makeCertificate(
        of name: String = "test", for alternative: String? = nil, certificate: String = "chain.pem",
        key: String = "key.pem", days: Int = 2
    ) async throws {
        let result = try await Command.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "\(days)",
                "-subj",
                "/CN=\(name)", "-keyout", file(key), "-out", file(certificate),
            ] + (alternative.map { ["-addext", "subjectAltName=\($0)"] } ?? []))
        guard result.status == 0 else { throw CommandError(result.output) }
    }
}
