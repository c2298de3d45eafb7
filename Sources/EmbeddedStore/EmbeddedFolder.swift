internal import Glibc
internal import Runtime
internal import Synchronization

/// Holds the folder of the embedded store and queue for one process: two that apply the same notifications would do
/// everything twice. Commands at a terminal need not hold it.
package final class EmbeddedFolder: Service {
    package let name = "embedded-folder"
    private let path: String
    private let lock = Mutex<Int32?>(nil)

    package init(path: String) { self.path = path }

    package struct Taken: Error, CustomStringConvertible {
        package let description: String
    }

    /// Makes the folder when it is not there, and holds it until `drain`.
    package func start() async throws {
        StoreFile.makeFolder(of: "\(path)/lock")
        let file = unsafe open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemError(call: "open \(path)/lock") }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let error = SystemError(call: "flock \(path)/lock")
            close(file)
            guard error.code == EWOULDBLOCK else { throw error }
            throw Taken(
                description: "another process works in \(path): stop it, or set embedded.folder to a folder of its own")
        }
        lock.withLock { $0 = file }
    }

    package func drain() async {
        if let file = lock.withLock({ $0.take() }) { close(file) }
    }
}
