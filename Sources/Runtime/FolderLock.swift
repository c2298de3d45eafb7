internal import Glibc

/// Holds a folder for this process alone, until the end of this object.
package final class FolderLock: Sendable {
    private let file: Int32

    /// Nil when another process, or another part of this one, has the folder, which must be there.
    package init?(_ folder: String) throws(SystemError) {
        let path = "\(folder)/lock"
        file = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemError(call: "open \(path)") }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let error = SystemError(call: "flock \(path)")
            close(file)
            guard error.code == EWOULDBLOCK else { throw error }
            return nil
        }
    }

    /// Said aloud: closing alone leaves the lock with a child process that was just forked and has not closed its copy.
    deinit {
        _ = flock(file, LOCK_UN)
        close(file)
    }
}

extension File {
    /// The names of what is in a folder, in no order.
    package static func names(in folder: String) throws(SystemError) -> [String] {
        guard let stream = unsafe opendir(folder) else { throw SystemError(call: "opendir \(folder)") }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    /// Removes a file, if it is there.
    package static func remove(_ path: String) throws(SystemError) {
        if unsafe unlink(path) != 0 && errno != ENOENT { throw SystemError(call: "unlink \(path)") }
    }

    /// Bytes of a file; nil when it is not there.
    package static func size(of path: String) -> Int64? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let end = lseek(file, 0, SEEK_END)
        return end < 0 ? nil : Int64(end)
    }
}
