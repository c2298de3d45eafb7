import CLinux
import Glibc
import Runtime

/// A client that sends exactly the bytes it is told to, on a thread of its own so that its waits block nobody.
struct RawClient: Sendable {
    enum Endpoint: Sendable {
        /// On loopback.
        case port(Int)
        /// A Unix socket.
        case path(String)
    }

    private let descriptor: Int32

    /// Connects, lets `body` talk, and closes. Every wait ends after `patience` with an error.
    static func talk<Value: Sendable>(
        to port: Int, patience: Duration = .seconds(20), _ body: @escaping @Sendable (RawClient) throws -> Value
    ) async throws -> Value {
        try await talk(to: .port(port), patience: patience, body)
    }

    static func talk<Value: Sendable>(
        to endpoint: Endpoint, patience: Duration = .seconds(20),
        _ body: @escaping @Sendable (RawClient) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try Thread.start(name: "client") {
                    continuation.resume(
                        with: Result {
                            let client = try RawClient(endpoint, patience: patience)
                            defer { close(client.descriptor) }
                            return try body(client)
                        })
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private init(_ endpoint: Endpoint, patience: Duration) throws {
        let family =
            switch endpoint {
            case .port: AF_INET
            case .path: AF_UNIX
            }
        descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        var time = timeval(
            tv_sec: Int(patience.components.seconds),
            tv_usec: Int(patience.components.attoseconds / 1_000_000_000_000))
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        let status =
            switch endpoint {
            case .port(let port): Self.connect(descriptor, port)
            case .path(let path): Self.connect(descriptor, path)
            }
        guard status == 0 else {
            let error = SystemError(call: "connect")
            close(descriptor)
            throw error
        }
    }

    private static func connect(_ descriptor: Int32, _ port: Int) -> Int32 {
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return connect(descriptor, &address, MemoryLayout<sockaddr_in>.size)
    }

    private static func connect(_ descriptor: Int32, _ path: String) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return connect(descriptor, &address, MemoryLayout<sockaddr_un>.size)
    }

    private static func connect<Address>(_ descriptor: Int32, _ address: inout Address, _ length: Int) -> Int32 {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(length))
            }
        }
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw SystemError(call: "send") }
            sent += count
        }
    }

    /// Says that nothing more will be sent.
    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the close a reset, as a client that dies does.
    func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// What arrives next; empty at the end.
    func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0 && errno == ECONNRESET { return [] }
        guard count >= 0 else { throw SystemError(call: "recv") }
        return Array(buffer[..<count])
    }

    /// What arrives within `time`; empty when nothing does.
    func receiveWithin(_ time: Duration) throws -> String {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, Int32(time / .milliseconds(1))) > 0 else { return "" }
        return String(decoding: try receive(), as: UTF8.self)
    }

    /// Lets time pass on the client's own thread.
    func pause(_ time: Duration) { usleep(UInt32(time / .microseconds(1))) }

    /// For a client inside another's talk; `finish` closes it.
    static func open(_ endpoint: Endpoint) throws -> RawClient { try RawClient(endpoint, patience: .seconds(20)) }

    func finish() { close(descriptor) }

    /// Everything up to the end.
    func receiveAll() throws -> String {
        var all: [UInt8] = []
        while true {
            let piece = try receive()
            if piece.isEmpty { return String(decoding: all, as: UTF8.self) }
            all += piece
        }
    }

    /// Everything up to and including `end`; throws at the end of the stream.
    func receive(upTo end: String) throws -> String {
        var all: [UInt8] = []
        while true {
            let piece = try receive()
            guard !piece.isEmpty else { throw SystemError(call: "recv", code: ECONNRESET) }
            all += piece
            let text = String(decoding: all, as: UTF8.self)
            if text.contains(end) { return text }
        }
    }
}

/// The status codes of the answers in a stream, in order.
func statuses(in stream: String) -> [Int] {
    stream.split(separator: "HTTP/1.1 ", omittingEmptySubsequences: false).dropFirst().compactMap { Int($0.prefix(3)) }
}
