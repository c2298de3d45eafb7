internal import CTLS

/// One connection's TLS, between memory buffers: no descriptor, no waiting. It belongs to its connection's thread.
@safe final class TLSSession {
    enum Outcome {
        case open
        /// The client said that it sends nothing more.
        case ended
        case failed(TLSError)
    }

    private let session: OpaquePointer
    private var hasFailed = false
    private var plain = [UInt8](repeating: 0, count: 16 << 10)

    init(_ session: OpaquePointer) { unsafe self.session = session }

    deinit { unsafe SSL_free(session) }

    /// Takes in what came over the wire and hands what it says to `parser`.
    func receive(_ bytes: borrowing Span<UInt8>, into parser: inout RequestParser) -> Outcome {
        ERR_clear_error()
        let written = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe BIO_write(SSL_get_rbio(session), buffer.baseAddress, Int32(clamping: buffer.count))
        }
        guard written == bytes.count else { return failed() }
        while true {
            let count = unsafe SSL_read(session, &plain, Int32(clamping: plain.count))
            if count > 0 {
                parser.receive(plain.span.extracting(0..<Int(count)))
                continue
            }
            switch unsafe SSL_get_error(session, count) {
            case SSL_ERROR_WANT_READ: return .open
            case SSL_ERROR_ZERO_RETURN: return .ended
            default: return failed()
            }
        }
    }

    /// Encrypts `bytes`; false when the session is broken.
    func send(_ bytes: [UInt8]) -> Bool {
        guard !bytes.isEmpty, !hasFailed else { return !hasFailed }
        ERR_clear_error()
        let count = unsafe SSL_write(session, bytes, Int32(clamping: bytes.count))
        if count != bytes.count { _ = failed() }
        return !hasFailed
    }

    /// Says that nothing more will be sent.
    func endSending() {
        guard !hasFailed, unsafe SSL_is_init_finished(session) == 1 else { return }
        // 0 means that the other side has not said so yet: nobody waits for that.
        if unsafe SSL_shutdown(session) < 0 { _ = failed() }
    }

    /// Moves what is to go over the wire to `output`.
    func takeOutput(into output: inout [UInt8]) {
        let out = unsafe SSL_get_wbio(session)
        while true {
            let count = unsafe BIO_read(out, &plain, Int32(clamping: plain.count))
            guard count > 0 else { return }
            output.append(contentsOf: plain[..<Int(count)])
        }
    }

    private func failed() -> Outcome {
        hasFailed = true
        return .failed(TLSError(doing: "TLS"))
    }
}
