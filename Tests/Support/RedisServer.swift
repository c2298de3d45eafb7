import Glibc
import Runtime

/// A real redis-server of the tests' own: private folder, loopback, free port, gone when the test process ends.
///
/// Most tests share one and keep apart by the app id in their keys (`uniqueApp`); those that stop, kill or pause the
/// server use `withOwn`.
package final class RedisServer: Sendable {
    package let host = "127.0.0.1"
    package let port: Int
    private let folder: TemporaryFolder
    /// Where in the folder it is.
    private let path: String

    /// Starts the server that all tests of this process share, the first time it is asked for.
    package static func shared() async throws -> RedisServer { try await one.value }

    private static let one = Task { try await RedisServer() }

    /// Gives `body` a server that nobody else uses, and takes it away afterwards.
    ///
    /// - Parameter options: What `ops/redis start` takes, such as `--sentinel`, or `--` and options of redis-server.
    package static func withOwn<Value>(
        _ options: [String] = [], _ body: (RedisServer) async throws -> Value
    ) async throws -> Value {
        let server = try await RedisServer(options)
        do {
            let value = try await body(server)
            try await server.stop()
            return value
        } catch {
            try await server.stop()
            throw error
        }
    }

    /// An app id that no other test uses, so that keys of tests on the shared server cannot meet.
    package static func uniqueApp(_ purpose: String = "app") -> String {
        "\(purpose)-\(UInt64.random(in: .min ... .max))"
    }

    private init(_ options: [String] = []) async throws {
        folder = try TemporaryFolder("redis")
        path = folder.path
        let output = try await Command.ops(
            "redis", ["start", path, "--with-parent", "\(getpid())", "--remove"] + options)
        guard let port = Int(output.filter(\.isNumber)) else { throw CommandError("no port in \(output)") }
        self.port = port
    }

    /// One that runs already, in a folder that is another's to remove.
    init(port: Int, path: String, in folder: TemporaryFolder) {
        self.port = port
        self.path = path
        self.folder = folder
    }

    /// Ends the server in good order; the data stays for `start`.
    package func stop() async throws { try await Command.ops("redis", ["stop", path]) }

    /// kill -9.
    package func kill() async throws { try await Command.ops("redis", ["kill", path]) }

    /// Starts it again after `stop` or `kill`, with its data, port and options.
    package func start() async throws {
        try await Command.ops("redis", ["start", path, "\(port)", "--with-parent", "\(getpid())", "--remove"])
    }

    /// Throws all data away; the server must be stopped. What a lost disk looks like.
    package func loseData() async throws {
        let result = try await Command.run("/bin/rm", ["-rf", "\(path)/appendonlydir"])
        guard result.status == 0 else { throw CommandError(result.output) }
    }

    /// SIGSTOP: connections stay up, nothing answers.
    package func pause() throws { try signal(SIGSTOP) }

    /// SIGCONT.
    package func resume() throws { try signal(SIGCONT) }

    /// Runs one command through redis-cli and returns what it printed.
    @discardableResult
    package func cli(_ arguments: String...) async throws -> String {
        try await cli(arguments)
    }

    @discardableResult
    package func cli(_ arguments: [String]) async throws -> String {
        let result = try await Command.run("/usr/bin/redis-cli", ["-h", host, "-p", "\(port)"] + arguments)
        guard result.status == 0 else { throw CommandError(result.output) }
        return String(result.output.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }

    private func signal(_ number: Int32) throws {
        guard let file = fopen("\(path)/pid", "r") else { throw SystemError(call: "fopen pid") }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 32)
        guard fgets(&line, 31, file) != nil else { throw CommandError("the pid file is empty") }
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard let pid = Int32(text.filter(\.isNumber)), pid > 1 else { throw CommandError("no pid in \(text)") }
        guard Glibc.kill(pid, number) == 0 else { throw SystemError(call: "kill") }
    }
}
