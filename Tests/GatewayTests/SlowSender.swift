import CLinux
import Glibc
import Runtime

/// Sends a request's header and a few bytes of its body, then nothing, and reads what comes back.
enum SlowSender {
    static func send(to port: Int) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try Thread.start(name: "slow-sender") { continuation.resume(with: Result { try talk(port) }) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private static func talk(_ port: Int) throws -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        defer { close(descriptor) }
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw SystemError(call: "connect") }
        let request = Array(
            "POST /apple/demo/sandbox HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n{\"signed".utf8)
        guard write(descriptor, request, request.count) == request.count else { throw SystemError(call: "write") }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count >= 0 else { throw SystemError(call: "recv") }
            if count == 0 { return String(decoding: answer, as: UTF8.self) }
            answer += chunk[..<count]
        }
    }
}
