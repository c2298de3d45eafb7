internal import Synchronization

/// What the server shows of itself over TLS; connections keep what they began with when it is replaced.
final class TLSIdentity: Sendable {
    private let certificate: HTTPServerSettings.Certificate
    private let current: Mutex<TLSContext>

    init(_ certificate: HTTPServerSettings.Certificate) throws(TLSError) {
        self.certificate = certificate
        current = Mutex(try TLSContext(certificate))
    }

    /// Reads the files again; what was read before stays in force when they are bad.
    func reload() throws(TLSError) {
        let context = try TLSContext(certificate)
        current.withLock { $0 = context }
    }

    /// What is in force, which is not what lies in the files when nobody had them read again.
    func report() throws(TLSError) -> TLSCertificateReport {
        try TLSCertificateReport(current.withLock { $0 }, from: certificate.chainFile)
    }

    func makeSession() -> TLSSession? { current.withLock { $0 }.makeSession() }
}
