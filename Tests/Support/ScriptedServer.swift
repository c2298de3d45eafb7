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

    private let listener: LoopbackListener
    private let state: State

    package var port: Int { listener.port }
    package var url: String { "http://127.0.0.1:\(port)" }
    package var exchanges: [Exchange] { state.exchanges }

    /// Sends `greeting` to each connection before it has asked for anything.
    package init(greeting: String = "", _ script: @escaping @Sendable (Exchange) -> Action) throws {
        let state = State()
        self.state = state
        listener = try LoopbackListener { connection in
            let number = state.begin(connection)
            let served: Void? = try? Thread.start(name: "scripted") {
                Self.write(greeting, to: connection)
                Self.serve(connection, number) { exchange in
                    state.note(exchange)
                    return script(exchange)
                }
                state.end(connection)
            }
            if served == nil { state.end(connection) }
        }
    }

    deinit { state.endAll() }

    /// What was asked, and the connections that are open. A connection is closed only where it is also forgotten, so that
    /// its number cannot be somebody else's meanwhile.
    private final class State: Sendable {
        private struct Values {
            var exchanges: [Exchange] = []
            var connections: Set<Int32> = []
            var count = 0
        }

        private let values = Mutex(Values())

        var exchanges: [Exchange] { values.withLock { $0.exchanges } }
        func note(_ exchange: Exchange) { values.withLock { $0.exchanges.append(exchange) } }

        func begin(_ connection: Int32) -> Int {
            values.withLock { values in
                values.connections.insert(connection)
                values.count += 1
                return values.count
            }
        }

        func end(_ connection: Int32) {
            values.withLock { values in
                values.connections.remove(connection)
                close(connection)
            }
        }

        func endAll() {
            values.withLock { values in
                for connection in values.connections { shutdown(connection, Int32(SHUT_RDWR)) }
            }
        }
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
