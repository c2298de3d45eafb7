import Glibc
import Runtime
import Synchronization
import TestSupport

/// Stands between a client and a server on loopback, and spoils what the server says: each connection after a growing
/// number of bytes, one way or another. Stops spoiling when told.
final class CorruptingProxy: Sendable {
    private final class State: Sendable {
        private let values = Mutex((connections: 0, isHonest: false))

        var connections: Int { values.withLock { $0.connections } }
        func beHonest() { values.withLock { $0.isHonest = true } }

        func begin() -> (connection: Int, isHonest: Bool) {
            values.withLock { values in
                values.connections += 1
                return (values.connections, values.isHonest)
            }
        }
    }

    private let listener: LoopbackListener
    private let state: State

    var port: Int { listener.port }
    var connections: Int { state.connections }
    func beHonest() { state.beHonest() }

    init(target: Int) throws {
        let state = State()
        self.state = state
        listener = try LoopbackListener { Self.serve($0, target: target, state) }
    }

    private static func serve(_ client: Int32, target: Int, _ state: State) {
        let (number, isHonest) = state.begin()
        guard let server = try? tcpSocket() else {
            close(client)
            return
        }
        var address = loopback(target)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard connected else {
            close(client)
            close(server)
            return
        }
        let pair = Pair(client, server)
        // Over the handshake in small steps, then beyond it.
        let offset = isHonest ? Int.max : number <= 25 ? number * 22 : number * 60
        _ = try? Thread.start(name: "proxy-up") { copy(client, server, .max, 0, pair) }
        _ = try? Thread.start(name: "proxy-down") { copy(server, client, offset, number, pair) }
    }

    /// Copies until either end is gone; from `offset` on, bytes are spoiled.
    private static func copy(_ from: Int32, _ to: Int32, _ offset: Int, _ seed: Int, _ pair: Pair) {
        var random = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        var copied = 0
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(from, &chunk, chunk.count)
            guard count > 0 else { break }
            for index in 0..<count {
                copied += 1
                guard copied > offset else { continue }
                random ^= random << 13
                random ^= random >> 7
                random ^= random << 17
                switch seed % 3 {
                case 0: chunk[index] = UInt8(truncatingIfNeeded: random)
                case 1: chunk[index] = 0xFF
                default: if random % 8 == 0 { chunk[index] ^= 1 << UInt8(random >> 8 & 7) }
                }
            }
            guard send(to, chunk, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        pair.end()
    }

    private static func tcpSocket() throws -> Int32 {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard fd >= 0 else { throw SystemError(call: "socket") }
        return fd
    }

    private static func loopback(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// Both sockets of a connection; closed once both directions have ended.
    private final class Pair: Sendable {
        private let sockets: [Int32]
        private let ended = Mutex(0)

        init(_ sockets: Int32...) { self.sockets = sockets }

        func end() {
            for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
            let isLast = ended.withLock { ended in
                ended += 1
                return ended == 2
            }
            if isLast { for socket in sockets { close(socket) } }
        }
    }
}
