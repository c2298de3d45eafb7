internal import CLinux
internal import Glibc

/// A plain POSIX thread, for loops and for blocking calls.
package enum Thread {
    private final class Start {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Starts a detached thread named `name` (15 bytes show in `top -H`).
    package static func start(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { _ = unsafe pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let status = unsafe pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                unsafe holdfast_name_this_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard status == 0 else {
            unsafe start.release()
            throw SystemError(call: "pthread_create", code: status)
        }
    }

    /// Blocks the calling thread, which must be one of its own (`start`), never one of Swift's pool or a loop's.
    package static func sleep(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        holdfast_sleep(max(0, seconds), max(0, attoseconds / 1_000_000_000))
    }

    /// Identifies the calling thread among those alive.
    package static var currentID: UInt { UInt(pthread_self()) }
}
