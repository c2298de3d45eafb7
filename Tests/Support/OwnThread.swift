import Glibc
import Runtime

/// Runs what keeps a core busy for long, on a thread of its own that lets everybody else go first.
///
/// Swift's pool has one thread a core: long work there would hold up the tests that wait for servers, until their deadlines.
package func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try Thread.start(name: "busy") {
                // On Linux this is about the calling thread alone.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                continuation.resume(with: Result { try body() })
            }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
