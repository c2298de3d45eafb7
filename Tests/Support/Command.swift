import CLinux
import Glibc
import Runtime

package struct CommandError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// Runs a program to its end, without Foundation.
package enum Command {
    package struct Result: Sendable {
        /// The exit code, or 128 + the signal that ended it.
        package let status: Int32
        /// What it wrote to its standard output and error.
        package let output: String
    }

    /// The folder of the package, from which scripts in `ops/` are named.
    package static let packageFolder = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }

    /// Runs a script of `ops/`; throws what it said if it fails.
    @discardableResult
    package static func ops(_ script: String, _ arguments: String...) async throws -> String {
        try await ops(script, arguments)
    }

    @discardableResult
    package static func ops(_ script: String, _ arguments: [String]) async throws -> String {
        let result = try await run("\(packageFolder)/ops/\(script)", arguments)
        guard result.status == 0 else {
            throw CommandError("ops/\(script) \(arguments) ended with \(result.status): \(result.output)")
        }
        return result.output
    }

    /// Runs the program at `path` on a thread of its own, so that the wait blocks nobody. Its standard input is empty, or
    /// a socket that brings `socketInput`, a few kilobytes at most.
    package static func run(_ path: String, _ arguments: [String], socketInput: [UInt8]? = nil) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try Thread.start(name: "command") {
                    continuation.resume(with: Swift.Result { try runBlocking(path, arguments, socketInput) })
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private static func runBlocking(_ path: String, _ arguments: [String], _ input: [UInt8]?) throws -> Result {
        var ends: [Int32] = [0, 0]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw SystemError(call: "pipe2") }
        defer { close(ends[0]) }
        let inputEnd = try input.map(socket)
        let spawned = Swift.Result { try spawn(path, arguments, input: inputEnd, output: ends[1]) }
        close(ends[1])
        if let inputEnd { close(inputEnd) }
        let pid = try spawned.get()

        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(ends[0], &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            output += chunk[..<count]
        }
        return Result(status: waitForExit(of: pid), output: String(decoding: output, as: UTF8.self))
    }

    /// The reading end of a socket into which `bytes` have been written.
    private static func socket(bringing bytes: [UInt8]) throws -> Int32 {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0, &ends) == 0 else {
            throw SystemError(call: "socketpair")
        }
        defer { close(ends[0]) }
        guard write(ends[0], bytes, bytes.count) == bytes.count else { throw SystemError(call: "write") }
        return ends[1]
    }

    /// Starts a program whose standard output and error go to the file descriptor `output`.
    static func spawn(_ path: String, _ arguments: [String], input: Int32? = nil, output: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        // A server must not inherit the sockets of tests that run beside the one that starts it.
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        // Nor the test runner's ideas about signals, or SIGTERM would not end it.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var argv = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for argument in argv { free(argument) } }
        var pid = pid_t()
        let status = posix_spawn(&pid, path, &actions, &attributes, &argv, environ)
        guard status == 0 else { throw SystemError(call: "posix_spawn \(path)", code: status) }
        return pid
    }

    /// Blocks until the child ends; its exit code, or 128 + the signal that ended it.
    static func waitForExit(of pid: pid_t) -> Int32 {
        var wait: Int32 = 0
        while waitpid(pid, &wait, 0) < 0 && errno == EINTR {}
        return wait & 0x7f == 0 ? (wait >> 8) & 0xff : 128 + (wait & 0x7f)
    }
}
