import CLinux
import Glibc
import HTTP
import Runtime

/// A real OCSP responder: each question is answered by `openssl ocsp`.
///
/// The HTTP before it is ours, on loopback: OpenSSL's own `-port` listens on all addresses of the machine. The port is
/// known before it starts, because the certificates it answers for have to name it.
package final class OpenSSLResponder: Sendable {
    /// What the responder says of one certificate.
    package enum Status: Sendable {
        case good
        /// `reason` as OpenSSL's index spells it, such as `keyCompromise`.
        case revoked(at: String, reason: String?)
    }

    package let port: Int
    private let folder: TemporaryFolder

    package var url: String { "http://127.0.0.1:\(port)/" }

    package init() throws {
        folder = try TemporaryFolder("ocsp")
        port = try Self.freePort()
    }

    /// A running responder; `kill` ends it, and so does the end of the tests.
    package struct Running: Sendable {
        fileprivate let server: HTTPServer
        fileprivate let loop: EventLoop

        package func kill() async {
            await server.drain()
            loop.stop()
        }
    }

    /// Starts to answer for what the authority issued, all certificates in PEM, as `signer`. Each call may say other
    /// things of other serial numbers (hexadecimal, as `serial(of:)` gives them).
    package func start(
        authority: String, signer: String, key: String, certificates: [(serial: String, status: Status)]
    ) async throws -> Running {
        try folder.write(authority, to: "authority.pem")
        try folder.write(signer, to: "signer.pem")
        try folder.write(key, to: "signer.key")
        let lines = certificates.map { serial, status in
            switch status {
            case .good: "V\t491231235959Z\t\t\(serial)\tunknown\t/CN=any\n"
            case .revoked(let at, let reason):
                "R\t491231235959Z\t\(at)\(reason.map { ",\($0)" } ?? "")\t\(serial)\tunknown\t/CN=any\n"
            }
        }
        try folder.write(lines.joined(), to: "index.txt")
        let loop = try EventLoop(name: "ocsp-responder")
        let server = HTTPServer(
            settings: HTTPServerSettings(name: "ocsp", address: "127.0.0.1:\(port)"), loops: [loop],
            handler: OpenSSLHandler(folder: folder), metrics: Metrics(), log: .discarding)
        try await server.start()
        return Running(server: server, loop: loop)
    }

    /// The serial number of a certificate in PEM, as OpenSSL reads it.
    package func serial(of pem: String) async throws -> String {
        let file = "certificate-\(UInt32.random(in: 0 ... .max)).pem"
        try folder.write(pem, to: file)
        let result = try await Command.run(
            "/usr/bin/openssl", ["x509", "-in", folder.file(file), "-noout", "-serial"])
        guard result.status == 0, let equals = result.output.firstIndex(of: "=") else {
            throw CommandError(result.output)
        }
        return String(result.output[equals...].dropFirst().filter(\.isHexDigit))
    }

    /// A port below those that the kernel gives to clients, free at this moment.
    private static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000..<32_000)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw SystemError(call: "socket") }
            defer { close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            let isFree = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isFree { return port }
        }
        throw CommandError("no free port")
    }
}

/// Lets OpenSSL answer each question by the index in the folder.
private struct OpenSSLHandler: HTTPHandler {
    let folder: TemporaryFolder

    func respond(to request: HTTPRequest) -> HTTPReply {
        .later {
            do { return try await answer(request.body) } catch { return .text("\(error)", status: 500) }
        }
    }

    private func answer(_ question: [UInt8]) async throws -> HTTPResponse {
        let number = UInt64.random(in: 0 ... .max)
        try folder.write(question, to: "question-\(number)")
        let result = try await Command.run(
            "/usr/bin/openssl",
            [
                "ocsp", "-index", folder.file("index.txt"), "-rsigner", folder.file("signer.pem"), "-rkey",
                folder.file("signer.key"), "-CA", folder.file("authority.pem"), "-nmin", "60", "-reqin",
                folder.file("question-\(number)"), "-respout", folder.file("answer-\(number)"),
            ])
        guard result.status == 0 else { throw CommandError(result.output) }
        return HTTPResponse(
            status: 200, contentType: "application/ocsp-response",
            body: try File.bytes(at: folder.file("answer-\(number)"), limit: 1 << 20))
    }
}
