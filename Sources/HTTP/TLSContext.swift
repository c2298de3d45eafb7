internal import CTLS

/// A certificate chain with its key, ready to serve connections.
///
/// Unchecked: it is set up before anybody else sees it and never changed after; OpenSSL documents `SSL_new` on a shared
/// `SSL_CTX` as safe from several threads.
@safe final class TLSContext: @unchecked Sendable {
    private let context: OpaquePointer

    /// Reads both files; throws when they are unreadable or do not belong together.
    init(_ certificate: HTTPServerSettings.Certificate) throws(TLSError) {
        ERR_clear_error()
        guard let context = unsafe holdfast_tls_server_context() else { throw TLSError(doing: "setting up TLS") }
        unsafe self.context = context
        guard unsafe SSL_CTX_use_certificate_chain_file(context, certificate.chainFile) == 1 else {
            throw TLSError(doing: "reading \(certificate.chainFile)")
        }
        guard unsafe SSL_CTX_use_PrivateKey_file(context, certificate.keyFile, SSL_FILETYPE_PEM) == 1 else {
            throw TLSError(doing: "reading \(certificate.keyFile)")
        }
        guard unsafe SSL_CTX_check_private_key(context) == 1 else {
            throw TLSError(doing: "matching \(certificate.keyFile) with \(certificate.chainFile)")
        }
    }

    deinit { unsafe SSL_CTX_free(context) }

    func withContext<Value>(_ body: (OpaquePointer) throws(TLSError) -> Value) throws(TLSError) -> Value {
        unsafe try body(context)
    }

    /// nil when there is no memory left.
    func makeSession() -> TLSSession? {
        guard let session = unsafe holdfast_tls_server_session(context) else { return nil }
        return unsafe TLSSession(session)
    }
}

/// What OpenSSL complained about.
struct TLSError: Error, Sendable, CustomStringConvertible {
    let description: String

    /// Takes the reason from OpenSSL's queue of this thread.
    init(doing what: String) {
        description = "\(what): \(TLSError.takeReason())"
    }

    static func takeReason() -> String {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return "unknown" }
        var text = [CChar](repeating: 0, count: 256)
        unsafe ERR_error_string_n(code, &text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
