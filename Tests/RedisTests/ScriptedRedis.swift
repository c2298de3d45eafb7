import Glibc
import TestSupport

/// A server that replies what a test tells it to, however wrong. The first thing a client sends is answered with PONG,
/// which is all a client wants for a greeting; each thing after that with `replies` in turn, in the pieces given.
final class ScriptedRedis: Sendable {
    private let listener: LoopbackListener

    var port: Int { listener.port }

    init(replies: [[String]]) throws {
        listener = try LoopbackListener { Self.serve($0, [["+PONG\r\n"]] + replies) }
    }

    private static func serve(_ connection: Int32, _ replies: [[String]]) {
        defer { close(connection) }
        var buffer = [UInt8](repeating: 0, count: 65536)
        for reply in replies {
            guard read(connection, &buffer, buffer.count) > 0 else { return }
            for piece in reply {
                _ = Array(piece.utf8).withUnsafeBytes {
                    send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                usleep(1000)
            }
        }
        while read(connection, &buffer, buffer.count) > 0 {}
    }
}
