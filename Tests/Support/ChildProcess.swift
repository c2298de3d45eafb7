import Glibc
import Runtime

/// A long-running program under test, such as `holdfast gateway`; what it writes goes to a file.
///
/// It is killed when it is no longer referred to, and by a watchdog when the test process is gone.
package final class ChildProcess: Sendable {
    package let pid: Int32
    private let logPath: String
    private let exit: Task<Int32, Never>

    /// The `holdfast` that was built beside these tests.
    package static func holdfast(_ arguments: [String], log: String) throws -> ChildProcess {
        try ChildProcess(try product("holdfast"), arguments, log: log)
    }

    /// The path of an executable that was built beside these tests.
    package static func product(_ name: String) throws -> String {
        var path = [CChar](repeating: 0, count: 4096)
        let length = readlink("/proc/self/exe", &path, path.count - 1)
        guard length > 0 else { throw SystemError(call: "readlink") }
        // The runner is the test bundle itself; the product lies in the same folder.
        let runner = String(decoding: path[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
        let folder = runner.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
        let beside = "\(folder)/\(name)"
        return access(beside, X_OK) == 0 ? beside : "\(Command.packageFolder)/.build/debug/\(name)"
    }

    package init(_ path: String, _ arguments: [String], log: String) throws {
        let output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw SystemError(call: "open \(log)") }
        defer { close(output) }
        let pid = try Command.spawn(path, arguments, output: output)
        self.pid = pid
        logPath = log
        let watch =
            "while kill -0 \(getpid()) && kill -0 \(pid); do sleep 1; done 2>/dev/null; kill -9 \(pid) 2>/dev/null"
        let watchdog = try Command.spawn("/bin/sh", ["-c", watch], output: output)
        exit = Task {
            await withCheckedContinuation { continuation in
                let wait: @Sendable () -> Void = {
                    let status = Command.waitForExit(of: pid)
                    Glibc.kill(watchdog, SIGKILL)
                    _ = Command.waitForExit(of: watchdog)
                    continuation.resume(returning: status)
                }
                // Without a thread to wait on there is nobody to wait for.
                do { try Thread.start(name: "wait", wait) } catch { wait() }
            }
        }
    }

    deinit { Glibc.kill(pid, SIGKILL) }

    /// kill -9, and waits until it is gone.
    package func kill() async {
        Glibc.kill(pid, SIGKILL)
        _ = await exit.value
    }

    /// SIGTERM, and waits for its exit code (128 + the signal if one ended it).
    package func terminate() async -> Int32 {
        Glibc.kill(pid, SIGTERM)
        return await exit.value
    }

    /// Waits until it ends by itself; its exit code (128 + the signal if one ended it).
    package func end() async -> Int32 { await exit.value }

    package func signal(_ number: Int32) { Glibc.kill(pid, number) }

    /// Everything that it wrote so far.
    package var log: String { (try? File.text(at: logPath, limit: 256 << 20)) ?? "" }
}
