internal import Runtime
package import Time

/// Where a gateway keeps its snapshot: `snapshot.db` in a folder of its own, with SQLite's `-wal` and `-shm` beside it.
///
/// What cannot be used is never fatal and never deleted at once: it is renamed to `snapshot.db.damaged-<time>`, of which
/// the newest few are kept, and a new file takes its place.
package struct SnapshotFolder: Sendable {
    package static let fileName = "snapshot.db"
    static let keptAside = 3

    package let path: String
    /// For tests that want a full disk.
    package var maximumPages: Int64?

    package var file: String { "\(path)/\(Self.fileName)" }

    package init(_ path: String, maximumPages: Int64? = nil) {
        self.path = path
        self.maximumPages = maximumPages
    }

    package struct Opened {
        package let file: SnapshotFile
        /// Why the file that was there was set aside, and where it is now.
        package let setAside: (reason: String, path: String)?
    }

    /// Opens the snapshot, or begins a new one.
    package func open(at now: Timestamp) throws(SnapshotFailure) -> Opened {
        do throws(SystemError) { try File.makeFolder(path) } catch { throw .folder("\(error)") }
        do throws(SnapshotFailure) {
            return Opened(file: try SnapshotFile(file, .create, maximumPages: maximumPages), setAside: nil)
        } catch {
            guard error.isOfTheFile else { throw error }
            let aside = try setAside(at: now)
            return Opened(
                file: try SnapshotFile(file, .create, maximumPages: maximumPages), setAside: ("\(error)", aside))
        }
    }

    /// Renames the file, which nobody must have open for writing any more; returns its new path.
    package func setAside(at now: Timestamp) throws(SnapshotFailure) -> String {
        let time = now.rfc3339.filter { $0.isASCII && ($0.isNumber || $0 == "T" || $0 == "Z") }
        let aside = "\(file).damaged-\(time)"
        do throws(SystemError) {
            // The log first: without its database it means nothing, but a new database must never meet it.
            for suffix in ["-wal", "-shm"] {
                do throws(SystemError) { try File.move("\(file)\(suffix)", to: "\(aside)\(suffix)") } catch {
                    guard error.isNoSuchFile else { throw error }
                }
            }
            do throws(SystemError) { try File.move(file, to: aside) } catch {
                guard error.isNoSuchFile else { throw error }
            }
            try forgetOld()
        } catch { throw .folder("\(error)") }
        return aside
    }

    private func forgetOld() throws(SystemError) {
        let prefix = "\(Self.fileName).damaged-"
        let names = try File.names(in: path).filter {
            $0.hasPrefix(prefix) && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
        }
        for name in names.sorted().dropLast(Self.keptAside) {
            for suffix in ["", "-wal", "-shm"] { try File.remove("\(path)/\(name)\(suffix)") }
        }
    }
}
