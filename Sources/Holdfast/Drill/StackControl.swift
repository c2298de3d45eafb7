import Glibc
import Runtime

/// Breaks and mends the parts of a stack by a program of the stack's own (`ops/stack`), called with a verb, `kill`,
/// `start` or `lose`, and the name of a part.
struct StackControl: Sendable {
    /// A command line for the shell, to which verb and part are added.
    let command: String

    func kill(_ part: Faults.Part) async throws { try await run("kill \(part.name)") }
    func start(_ part: Faults.Part) async throws { try await run("start \(part.name)") }
    /// Throws away all data of a part that is not running.
    func loseData(of part: Faults.Part) async throws { try await run("lose \(part.name)") }

    /// The wait is on a thread of its own, so that it keeps nobody.
    private func run(_ arguments: String) async throws {
        let line = "\(command) \(arguments) 2>&1"
        let (status, output): (Int32, String) = try await withCheckedThrowingContinuation { continuation in
            do {
                try Thread.start(name: "control") { continuation.resume(with: Result { try Self.runBlocking(line) }) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        guard status == 0 else { throw DemoError("\(command) \(arguments) failed: \(output)") }
    }

    private static func runBlocking(_ line: String) throws -> (Int32, String) {
        guard let pipe = popen(line, "re") else { throw SystemError(call: "popen") }
        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        // Not by fread: it keeps the stream locked while it waits, and whoever flushes all streams waits with it.
        while case let count = read(fileno(pipe), &chunk, chunk.count), count > 0 {
            // Only what explains a failure is of interest.
            if output.count < 65_536 { output += chunk[..<count] }
        }
        return (pclose(pipe), String(decoding: output, as: UTF8.self))
    }
}
