internal import Glibc
internal import Runtime

/// The spool's folder: one process at a time, its files by name, and their entries made durable.
struct SpoolFolder: ~Copyable {
    let path: String
    private let lock: DiskFile

    /// Makes the folder when it is missing, and holds it until the end of this value.
    init(_ path: String) throws(SpoolError) {
        var holder = ""
        guard let lock = try Self.lock(path, &holder) else {
            throw .locked(folder: path, holder: holder.isEmpty ? "unknown" : holder)
        }
        self.lock = lock
        self.path = path
    }

    /// Said aloud: closing alone leaves the lock with a child process that was just forked and has not closed its copy.
    deinit { _ = flock(lock.descriptor, LOCK_UN) }

    /// Nil when another process, `holder`, has it.
    private static func lock(_ path: String, _ holder: inout String) throws(SpoolError) -> DiskFile? {
        do throws(SystemError) {
            try makeFolder(path)
            let lock = try DiskFile("\(path)/lock", O_RDWR | O_CREAT)
            guard flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let error = SystemError(call: "flock \(path)/lock")
                guard error.code == EWOULDBLOCK else { throw error }
                holder = String(decoding: try lock.read(16, at: 0), as: UTF8.self)
                return nil
            }
            try lock.truncate(to: 0)
            try lock.write(Array(String(getpid()).utf8), at: 0)
            try synchronize(path)
            return lock
        } catch {
            throw .disk(error)
        }
    }

    /// The segments, oldest first. Other files are nobody's business here.
    func segments() throws(SystemError) -> [SegmentName] { try Self.segmentNames(in: path) }

    static func segmentNames(in path: String) throws(SystemError) -> [SegmentName] {
        guard let stream = unsafe opendir(path) else { throw SystemError(call: "opendir \(path)") }
        defer { unsafe closedir(stream) }
        var names: [SegmentName] = []
        while let entry = unsafe readdir(stream) {
            // What is known to be a folder or a link was not made here.
            guard unsafe [DT_REG, DT_UNKNOWN].contains(Int(entry.pointee.d_type)) else { continue }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if let segment = SegmentName(fileName: name) { names.append(segment) }
        }
        return names.sorted { $0.first < $1.first }
    }

    /// Makes created and removed files survive a power cut.
    static func synchronize(_ path: String) throws(SystemError) {
        let folder = try DiskFile(path, O_RDONLY | O_DIRECTORY)
        guard fsync(folder.descriptor) == 0 else { throw SystemError(call: "fsync \(path)") }
    }

    static func makeFolder(_ path: String) throws(SystemError) {
        if unsafe mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
            throw SystemError(call: "mkdir \(path)")
        }
        let parent = String(path[..<slash])
        try makeFolder(parent)
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError(call: "mkdir \(path)") }
        try synchronize(parent)
    }
}
