import CLinux
import Glibc
import Runtime

/// A real OCSP responder, `openssl ocsp`, in a private folder; gone when it is no longer referred to.
///
/// Its port is known before it starts, because the certificates it answers for have to name it. It listens on all
/// addresses of the machine: OpenSSL's responder knows no other way.
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

    /// A running responder; ends with `stop` or with the last reference to it.
    package typealias Running = ChildProcess

    /// Starts to answer for what the authority issued, all certificates in PEM, as `signer`. Each call may say other
    /// things of other serial numbers (hexadecimal, as `serial(of:)` gives them).
    package func start(
        authority: String, signer: String, key: String, certificates: [(serial: String, status: Status)]
    ) async throws -> Running {
        try write(authority, to: "authority.pem")
        try write(signer, to: "signer.pem")
        try write(key, to: "signer.key")
        let lines = certificates.map { serial, status in
            switch status {
            case .good: "V\t491231235959Z\t\t\(serial)\tunknown\t/CN=any\n"
            case .revoked(let at, let reason):
                "R\t491231235959Z\t\(at)\(reason.map { ",\($0)" } ?? "")\t\(serial)\tunknown\t/CN=any\n"
            }
        }
        try write(lines.joined(), to: "index.txt")
        let log = folder.file("log-\(UInt32.random(in: 0 ... .max))")
        let process = try ChildProcess(
            "/usr/bin/openssl",
            [
                "ocsp", "-index", folder.file("index.txt"), "-port", "\(port)", "-rsigner", folder.file("signer.pem"),
                "-rkey", folder.file("signer.key"), "-CA", folder.file("authority.pem"), "-nmin", "60",
            ], log: log)
        guard try await eventually({ process.log.contains("waiting for OCSP client connections") }) else {
            throw CommandError("openssl ocsp does not listen: \(process.log)")
        }
        return process
    }

    /// The serial number of a certificate in PEM, as OpenSSL reads it.
    package func serial(of pem: String) async throws -> String {
        let file = "certificate-\(UInt32.random(in: 0 ... .max)).pem"
        try write(pem, to: file)
        let result = try await Command.run(
            "/usr/bin/openssl", ["x509", "-in", folder.file(file), "-noout", "-serial"])
        guard result.status == 0, let equals = result.output.firstIndex(of: "=") else {
            throw CommandError(result.output)
        }
        return String(result.output[equals...].dropFirst().filter(\.isHexDigit))
    }

    private func write(_ text: String, to name: String) throws {
        guard let file = fopen(folder.file(name), "w") else { throw SystemError(call: "fopen \(name)") }
        defer { fclose(file) }
        let bytes = Array(text.utf8)
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw SystemError(call: "fwrite \(name)") }
    }

    /// A port below those that the kernel gives to clients, free at this moment.
    private static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000..<32_000)
            let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw SystemError(call: "socket") }
            defer { close(descriptor) }
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = UInt16(port).bigEndian
            let isFree = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
                }
            }
            if isFree { return port }
        }
        throw CommandError("no free port")
    }
}
