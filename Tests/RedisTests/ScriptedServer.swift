import Glibc
import Runtime
import TestSupport

/// A TCP server that replies what a test tells it to, however wrong. The first thing a client sends is answered with
/// PONG, which is all a client wants for a greeting; each thing after that with `replies` in turn, in the pieces given.
final class ScriptedServer: Sendable {
    let port: Int
    private let listener: Int32

    init(replies: [[String]]) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer -> Int32 in
                guard bind(listener, pointer, length) == 0, listen(listener, 8) == 0 else { return -1 }
                return getsockname(listener, pointer, &length)
            }
        }
        guard status == 0 else { throw SystemError(call: "bind") }
        port = Int(UInt16(bigEndian: address.sin_port))
        self.listener = listener
        try Thread.start(name: "scripted") {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Self.serve(connection, [["+PONG\r\n"]] + replies)
            }
        }
    }

    private static func serve(_ connection: Int32, _ replies: [[String]]) {
        var buffer = [UInt8](repeating: 0, count: 65536)
        for reply in replies {
            guard read(connection, &buffer, buffer.count) > 0 else { break }
            for piece in reply {
                _ = Array(piece.utf8).withUnsafeBytes {
                    send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                usleep(1000)
            }
        }
        while read(connection, &buffer, buffer.count) > 0 {}
        close(connection)
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }
}
