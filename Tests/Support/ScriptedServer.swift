import CLinux
import Glibc
import Runtime
import Synchronization

/// A server that answers with the very bytes a test says; one thread a connection, gone with the object.
package final class ScriptedServer: Sendable {
    package struct Exchange: Sendable {
        /// Counts connections from 1.
        package let connection: Int
        /// The request's bytes, head and body.
        package let request: String
    }

    package enum Action: Sendable {
        case answer(String)
        /// The bytes, then the end of the connection.
        case answerAndClose(String)
        /// Nothing, and the connection stays.
        case silence
    }

    private struct State {
        var exchanges: [Exchange] = []
        var connections: [Int32] = []
    }

    package let port: Int
    private let listener: Int32
    private let state = Mutex(State())

    package var url: String { "http://127.0.0.1:\(port)" }
    package var exchanges: [Exchange] { state.withLock { $0.exchanges } }

    /// Sends `greeting` to each connection before it has asked for anything.
    package init(greeting: String = "", _ script: @escaping @Sendable (Exchange) -> Action) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw SystemError(call: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard bound else { throw SystemError(call: "bind") }
        port = Int(UInt16(bigEndian: address.sin_port))
        try Thread.start(name: "scripted") { [weak self] in
            var count = 0
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else {
                    // Closed here and not by `deinit`, or this thread could accept from another test's listener that got
                    // the same number.
                    close(listener)
                    return
                }
                count += 1
                self?.state.withLock { $0.connections.append(connection) }
                let number = count
                Self.write(greeting, to: connection)
                try? Thread.start(name: "scripted") { [weak self] in
                    Self.serve(connection, number) { exchange in
                        self?.state.withLock { $0.exchanges.append(exchange) }
                        return script(exchange)
                    }
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in state.withLock({ $0.connections }) { shutdown(connection, Int32(SHUT_RDWR)) }
    }

    private static func serve(_ connection: Int32, _ number: Int, _ script: (Exchange) -> Action) {
        var received: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(connection, &chunk, chunk.count, 0)
            guard count > 0 else { return }
            received += chunk[..<count]
            guard let length = requestLength(received) else { continue }
            let request = String(decoding: received[..<length], as: UTF8.self)
            received.removeFirst(length)
            switch script(Exchange(connection: number, request: request)) {
            case .answer(let text): write(text, to: connection)
            case .answerAndClose(let text):
                write(text, to: connection)
                shutdown(connection, Int32(SHUT_RDWR))
            case .silence: break
            }
        }
    }

    private static func requestLength(_ bytes: [UInt8]) -> Int? {
        let blankLine = Array("\r\n\r\n".utf8)
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: blankLine) }) else { return nil }
        let head = String(decoding: bytes[..<end], as: UTF8.self)
        var whole = end + 4
        for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix("content-length:") {
            whole += Int(line.dropFirst(15).drop { $0 == " " }) ?? 0
        }
        return bytes.count >= whole ? whole : nil
    }

    private static func write(_ text: String, to connection: Int32) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }
}
