internal import Runtime
internal import SQLite
internal import Time

/// The one that writes the snapshot, on a thread of its own.
actor SnapshotWriter {
    private let loop: EventLoop
    private let folder: SnapshotFolder
    private let metrics: SnapshotMetrics
    private var lock: FolderLock?
    private var file: SnapshotFile?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(_ folder: SnapshotFolder, loop: EventLoop, metrics: SnapshotMetrics) {
        self.folder = folder
        self.loop = loop
        self.metrics = metrics
    }

    struct Opened: Sendable {
        let meta: SnapshotMeta
        let setAside: (reason: String, path: String)?
    }

    /// Opens or begins the file, unless it is open.
    func open(at now: Timestamp) throws(SnapshotFailure) -> Opened {
        if let file { return Opened(meta: file.meta, setAside: nil) }
        if lock == nil {
            do throws(SystemError) {
                try File.makeFolder(folder.path)
                lock = try FolderLock(folder.path)
            } catch { throw .folder("\(error)") }
            guard lock != nil else { throw .folder("\(folder.path): another process keeps its snapshot there") }
        }
        let opened = try folder.open(at: now)
        file = opened.file
        measure()
        return Opened(meta: opened.file.meta, setAside: opened.setAside)
    }

    /// Puts a file that turned out to be damaged aside and begins another.
    func replace(at now: Timestamp) throws(SnapshotFailure) -> Opened {
        file = nil
        let path = try folder.setAside(at: now)
        let opened = try open(at: now)
        return Opened(meta: opened.meta, setAside: ("damage was found in it", path))
    }

    func write(
        _ rows: [SnapshotRow], joining: Bool, _ change: @Sendable (inout SnapshotMeta) -> Void
    ) throws(SnapshotFailure) -> SnapshotMeta {
        try carryOut { (file) throws(SQLiteError) in
            let began = ContinuousClock.now
            try file.write(rows, joining: joining, change)
            metrics.commitSeconds.record(.now - began)
            metrics.written.increment(by: UInt64(rows.count))
            return file.meta
        }
    }

    func unswept(after path: String, limit: Int) throws(SnapshotFailure) -> (paths: [String], last: String?) {
        try carryOut { (file) throws(SQLiteError) in try file.unswept(after: path, limit: limit) }
    }

    func remove(_ paths: [String]) throws(SnapshotFailure) -> SnapshotMeta {
        try carryOut { (file) throws(SQLiteError) in
            try file.remove(paths)
            return file.meta
        }
    }

    func close() {
        file = nil
        lock = nil
    }

    private func carryOut<Value>(_ body: (SnapshotFile) throws(SQLiteError) -> Value) throws(SnapshotFailure) -> Value {
        guard let file else { throw .folder("the snapshot is not open") }
        do throws(SQLiteError) {
            let value = try body(file)
            measure()
            return value
        } catch {
            // What the disk did to the file is not known to this connection; its log says it to the next one.
            if error.code == .inputOutput { self.file = nil }
            throw .sqlite(error)
        }
    }

    private func measure() {
        guard let file, let bytes = try? file.bytes else { return }
        metrics.bytes.set(Double(bytes))
        metrics.holders.set(Double(file.meta.holders))
        metrics.isComplete.set(file.meta.isComplete ? 1 : 0)
    }
}

/// Reads the snapshot beside its writer, on a thread of its own: a page that has to come from the disk keeps only those
/// waiting who ask for the snapshot.
actor SnapshotReader {
    private let loop: EventLoop
    private let path: String
    private var file: SnapshotFile?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(_ path: String, loop: EventLoop) {
        self.path = path
        self.loop = loop
    }

    func find(_ path: String) throws(SnapshotFailure) -> SnapshotFile.Found? {
        let file = try opened()
        do { return try file.find(path) } catch { throw .sqlite(error) }
    }

    func rows(after path: String, limit: Int) throws(SnapshotFailure) -> [SnapshotFile.Found] {
        let file = try opened()
        do { return try file.rows(after: path, limit: limit) } catch { throw .sqlite(error) }
    }

    /// Lets go of the file; the next read opens what is there then.
    func close() { file = nil }

    private func opened() throws(SnapshotFailure) -> SnapshotFile {
        if let file { return file }
        let opened = try SnapshotFile(path, .readOnly)
        file = opened
        return opened
    }
}
