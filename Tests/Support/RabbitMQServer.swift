import Glibc
import Runtime

/// A real RabbitMQ of the tests' own: private folder, loopback, free port, gone when the test process ends.
///
/// Starting takes some seconds, so most tests share one and keep apart by the prefix of their queues and exchanges
/// (`uniquePrefix`); those that stop, kill, pause or block the server use `withOwn`.
package final class RabbitMQServer: Sendable {
    package let host = "127.0.0.1"
    package let port: Int
    /// The port that speaks TLS, if one was asked for.
    package let tlsPort: Int?
    private let folder: TemporaryFolder

    /// Starts the server that all tests of this process share, the first time it is asked for.
    package static func shared() async throws -> RabbitMQServer { try await one.value }

    private static let one = Task { try await RabbitMQServer() }

    /// Gives `body` a server that nobody else uses, and takes it away afterwards.
    package static func withOwn<Value>(_ body: (RabbitMQServer) async throws -> Value) async throws -> Value {
        let server = try await RabbitMQServer()
        do {
            let value = try await body(server)
            try await server.remove()
            return value
        } catch {
            try await server.remove()
            throw error
        }
    }

    /// A prefix for the names of queues and exchanges that no other test uses.
    package static func uniquePrefix(_ purpose: String = "test") -> String {
        "\(purpose)-\(UInt64.random(in: .min ... .max))"
    }

    /// `tls` names the PEM files of a certificate and its key, to speak TLS on a second port.
    package init(tls: (certificate: String, key: String)? = nil) async throws {
        folder = try TemporaryFolder("rabbitmq")
        // Below the range of outgoing connections, beside what ops/rabbitmq chooses from.
        tlsPort = tls == nil ? nil : Int.random(in: 12000..<20000)
        var configuration = ""
        if let tls, let tlsPort {
            configuration = """
                listeners.ssl.1 = 127.0.0.1:\(tlsPort)
                ssl_options.cacertfile = \(tls.certificate)
                ssl_options.certfile = \(tls.certificate)
                ssl_options.keyfile = \(tls.key)
                ssl_options.versions.1 = tlsv1.3
                ssl_options.versions.2 = tlsv1.2

                """
        }
        try folder.write(configuration, to: "more.conf")
        port = try await Self.start(in: folder)
    }

    /// Ends the server in good order; the data stays for `start`.
    package func stop() async throws { try await Command.ops("rabbitmq", "stop", folder.path) }

    /// kill -9.
    package func kill() async throws { try await Command.ops("rabbitmq", "kill", folder.path) }

    /// Starts it again after `stop` or `kill`, with its data and port.
    package func start() async throws { _ = try await Self.start(in: folder) }

    /// Ends it without ceremony, and the watchdog too.
    package func remove() async throws {
        try await kill()
        try await stop()
    }

    package func restart() async throws {
        try await stop()
        try await start()
    }

    /// SIGSTOP: connections stay up, nothing answers.
    package func pause() async throws { try await Command.ops("rabbitmq", "pause", folder.path) }

    /// SIGCONT.
    package func resume() async throws { try await Command.ops("rabbitmq", "resume", folder.path) }

    /// Undoes `pause`, `kill`, `stop` and `raiseMemoryAlarm`.
    package func makeUsable() async throws {
        let status = try await Command.run("\(Command.packageFolder)/ops/rabbitmq", ["resume", folder.path])
        guard status.status == 0 else { return try await start() }
        try await clearMemoryAlarm()
    }

    /// Runs rabbitmqctl against it and returns what it printed.
    @discardableResult
    package func control(_ arguments: String...) async throws -> String {
        let result = try await Command.run(
            "\(Command.packageFolder)/ops/rabbitmq", ["ctl", folder.path] + arguments)
        guard result.status == 0 else { throw CommandError("rabbitmqctl \(arguments): \(result.output)") }
        return result.output
    }

    /// Raises the memory alarm: the server stops reading from connections that publish.
    package func raiseMemoryAlarm() async throws { try await control("set_vm_memory_high_watermark", "0") }

    package func clearMemoryAlarm() async throws {
        try await control("set_vm_memory_high_watermark", "absolute", "1GiB")
    }

    private static func start(in folder: TemporaryFolder) async throws -> Int {
        try await Command.ops(
            "rabbitmq", "start", folder.path, "--with-parent", "\(getpid())", "--remove",
            "--config", folder.file("more.conf"))
        let result = try await Command.run("/bin/cat", [folder.file("port")])
        guard let port = Int(result.output.filter(\.isNumber)) else { throw CommandError("no port: \(result.output)") }
        return port
    }
}
