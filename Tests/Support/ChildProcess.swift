import CLinux
import Glibc
import Runtime

/// A program that runs beside the test, for killing it: its standard output arrives line by line.
package final class ChildProcess: Sendable {
    package let pid: Int32
    /// Ends when the program has ended and all it wrote has been read.
    package let lines: AsyncStream<String>
    private let ended: AsyncStream<Int32>

    /// Its standard error goes where the test's goes.
    package init(_ path: String, _ arguments: [String]) throws {
        var ends: [Int32] = [0, 0]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw SystemError(call: "pipe2") }
        let output = ends[0]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        var argv = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for argument in argv { free(argument) } }
        var pid = pid_t()
        let status = posix_spawn(&pid, path, &actions, nil, &argv, environ)
        close(ends[1])
        guard status == 0 else {
            close(output)
            throw SystemError(call: "posix_spawn \(path)", code: status)
        }
        self.pid = pid
        let (lines, linesEnd) = AsyncStream<String>.makeStream()
        let (ended, endedEnd) = AsyncStream<Int32>.makeStream()
        self.lines = lines
        self.ended = ended
        let child = pid
        try Thread.start(name: "child-output") {
            var rest: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = read(output, &chunk, chunk.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { break }
                rest += chunk[..<count]
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    linesEnd.yield(String(decoding: rest[..<end], as: UTF8.self))
                    rest.removeFirst(end + 1)
                }
            }
            close(output)
            linesEnd.finish()
            var wait: Int32 = 0
            while waitpid(child, &wait, 0) < 0 && errno == EINTR {}
            endedEnd.yield(wait & 0x7f == 0 ? (wait >> 8) & 0xff : 128 + (wait & 0x7f))
            endedEnd.finish()
        }
    }

    package func signal(_ number: Int32) { _ = Glibc.kill(pid, number) }

    /// The exit code, or 128 + the signal that ended it. To be asked once.
    package func status() async -> Int32? {
        for await status in ended { return status }
        return nil
    }

    /// The path of an executable of this package, which lies beside the one that runs the tests.
    package static func product(_ name: String) throws -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { throw SystemError(call: "readlink") }
        let running = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        for start in [running, CommandLine.arguments.first ?? ""] {
            let path = start.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/\(name)"
            if access(path, X_OK) == 0 { return path }
        }
        throw CommandError("\(name) is not beside \(running)")
    }
}
