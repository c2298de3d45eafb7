final class TLSSession {
    enum Outcome { case open, ended, failed(String) }
    func receive(_ bytes: borrowing Span<UInt8>, into parser: inout RequestParser) -> Outcome { .open }
    func takeOutput(into output: inout [UInt8]) {}
    func send(_ bytes: [UInt8]) {}
    func close() {}
}
extension TLSIdentity {
    func makeSession() -> TLSSession { TLSSession() }
}
