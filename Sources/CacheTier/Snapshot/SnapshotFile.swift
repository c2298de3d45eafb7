internal import Runtime
package import SQLite

/// The file that holds every customer's view: one row a holder, and the position in the change feed up to which the rows
/// are true, written together. A SQLite database of the tables `holders` and `meta`.
///
/// It belongs to one thread at a time and blocks it. Whatever is in the file, right or wrong, ends in rows or in an error.
package final class SnapshotFile {
    package static let formatVersion: Int64 = 1
    /// "HFSN": tells our databases from others.
    static let applicationID: Int64 = 0x4846_534E

    package enum Mode { case create, readOnly }

    /// A row as it was found.
    package struct Found: Sendable {
        package var path: String
        /// Nil when its bytes are not what was written.
        package var row: SnapshotRow?
        package var sweep: Int64
    }

    package let path: String
    package private(set) var meta = SnapshotMeta()
    private let connection: SQLiteConnection
    private let find: SQLiteStatement
    private let nextRows: SQLiteStatement
    private let update: SQLiteStatement
    private let insert: SQLiteStatement
    private let remove: SQLiteStatement
    private let unswept: SQLiteStatement
    private let setMeta: SQLiteStatement
    private let getMeta: SQLiteStatement

    /// Opens the file, or with `.create` makes it when it is not there. `maximumPages` of 4 KiB bound its size.
    package init(_ path: String, _ mode: Mode, maximumPages: Int64? = nil) throws(SnapshotFailure) {
        self.path = path
        do throws(SQLiteError) {
            connection = try SQLiteConnection(path: path, mode: mode == .create ? .create : .readOnly)
            try connection.execute("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 0")
            try connection.execute("PRAGMA cache_size = -16384")
            if mode == .create { try Self.make(connection) }
        } catch { throw .sqlite(error) }
        try Self.examine(connection)
        do throws(SQLiteError) {
            if let maximumPages { try connection.execute("PRAGMA max_page_count = \(maximumPages)") }
            find = try connection.prepare("SELECT path, revision, sweep, crc, bytes FROM holders WHERE path = ?")
            nextRows = try connection.prepare(
                "SELECT path, revision, sweep, crc, bytes FROM holders WHERE path > ? ORDER BY path LIMIT ?")
            update = try connection.prepare(
                "UPDATE holders SET revision = ?, sweep = ?, crc = ?, bytes = ? WHERE path = ?")
            insert = try connection.prepare(
                "INSERT INTO holders (revision, sweep, crc, bytes, path) VALUES (?, ?, ?, ?, ?)")
            remove = try connection.prepare("DELETE FROM holders WHERE path = ?")
            unswept = try connection.prepare(
                "SELECT path, sweep FROM holders WHERE path > ? ORDER BY path LIMIT ?")
            setMeta = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)")
            getMeta = try connection.prepare("SELECT name, value FROM meta")
        } catch {
            // Tables that are not there, or are others than ours.
            throw error.code == .failed ? .damaged(error.message) : .sqlite(error)
        }
        try readMeta()
        // What is cut off or overwritten shows at the ends first; the rest shows when it is read.
        do throws(SQLiteError) {
            _ = try connection.prepare("SELECT path FROM holders ORDER BY path DESC LIMIT 1").first { $0.text(0) }
            _ = try connection.prepare("SELECT path FROM holders ORDER BY path LIMIT 1").first { $0.text(0) }
        } catch { throw .sqlite(error) }
    }

    private static func make(_ connection: SQLiteConnection) throws(SQLiteError) {
        // An empty file and one whose making was interrupted have no tables.
        let tables = try connection.prepare("SELECT count(*) FROM sqlite_master").first { $0.integer(0) } ?? 0
        let identity = try connection.prepare("PRAGMA application_id").first { $0.integer(0) } ?? 0
        let version = try connection.prepare("PRAGMA user_version").first { $0.integer(0) } ?? 0
        if tables == 0 && identity == 0 && version == 0 {
            try connection.execute("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
            try connection.transaction { () throws(SQLiteError) in
                try connection.execute(
                    """
                    CREATE TABLE holders (
                        path TEXT NOT NULL PRIMARY KEY, revision INTEGER NOT NULL, sweep INTEGER NOT NULL,
                        crc INTEGER NOT NULL, bytes BLOB NOT NULL
                    ) WITHOUT ROWID;
                    CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                    """)
                let set = try connection.prepare("INSERT INTO meta (name, value) VALUES (?, ?)")
                for (name, value) in SnapshotMeta().values { try set.run([.text(name), .text(value)]) }
                try connection.execute(
                    "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(formatVersion)")
            }
        }
        guard identity == applicationID || tables == 0 else { return }
        // A commit is on the disk when it returns; a log that grew is cut when it was emptied.
        try connection.execute(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864")
    }

    private static func examine(_ connection: SQLiteConnection) throws(SnapshotFailure) {
        let identity: Int64
        let version: Int64
        do throws(SQLiteError) {
            identity = try connection.prepare("PRAGMA application_id").first { $0.integer(0) } ?? 0
            version = try connection.prepare("PRAGMA user_version").first { $0.integer(0) } ?? 0
            _ = try connection.prepare("SELECT count(*) FROM sqlite_master").first { $0.integer(0) }
        } catch { throw .sqlite(error) }
        guard identity == applicationID else {
            throw .foreign("its application id is \(identity), not \(applicationID)")
        }
        guard version <= formatVersion else { throw .newer(version) }
        guard version == formatVersion else { throw .damaged("it says to be of format \(version)") }
    }

    /// Reads again what others may have written.
    package func readMeta() throws(SnapshotFailure) {
        let pairs: [(String, String)]
        do throws(SQLiteError) {
            pairs = try getMeta.all { (row) throws(SQLiteError) in (row.text(0), row.text(1)) }
        } catch { throw .sqlite(error) }
        guard let meta = SnapshotMeta(Dictionary(pairs) { first, _ in first }) else {
            throw .damaged("what it says of itself does not have its checksum")
        }
        self.meta = meta
    }

    // MARK: Reading

    /// The row of a holder; nil when there is none.
    package func find(_ path: String) throws(SQLiteError) -> Found? {
        try find.first([.text(path)]) { (row) throws(SQLiteError) in Self.found(row) }
    }

    /// The rows behind `path`, in the order of their paths.
    package func rows(after path: String, limit: Int) throws(SQLiteError) -> [Found] {
        try nextRows.all([.text(path), .integer(Int64(limit))]) { (row) throws(SQLiteError) in Self.found(row) }
    }

    /// The same, with its failure as the snapshot's.
    package func page(after path: String, limit: Int) throws(SnapshotFailure) -> [Found] {
        do { return try rows(after: path, limit: limit) } catch { throw .sqlite(error) }
    }

    private static func found(_ row: SQLiteStatement) -> Found {
        let path = row.text(0)
        let revision = UInt64(bitPattern: row.integer(1))
        let bytes = row.bytes(4)
        let isWhole = SnapshotRow.checksum(path: path, revision: revision, bytes: bytes) == row.integer(3)
        return Found(
            path: path, row: isWhole ? SnapshotRow(path: path, revision: revision, bytes: bytes) : nil,
            sweep: row.integer(2))
    }

    // MARK: Writing

    /// Writes rows and what the snapshot then knows of itself, together, durably. With `joining` a row keeps what it knew.
    package func write(
        _ rows: [SnapshotRow], joining: Bool = false, _ change: (inout SnapshotMeta) -> Void = { _ in }
    ) throws(SQLiteError) {
        var next = meta
        change(&next)
        try connection.transaction { () throws(SQLiteError) in
            for row in rows {
                var row = row
                if joining, let old = try find(row.path)?.row { row = row.joined(with: old) }
                let bytes = row.bytes
                let checksum = SnapshotRow.checksum(path: row.path, revision: row.revision, bytes: bytes)
                let values: [SQLiteStatement.Value] = [
                    .integer(Int64(bitPattern: row.revision)), .integer(next.sweep), .integer(checksum), .bytes(bytes),
                    .text(row.path),
                ]
                try update.run(values)
                guard connection.changes == 0 else { continue }
                try insert.run(values)
                next.holders += 1
            }
            try save(next)
        }
        meta = next
    }

    /// Removes rows; only what the store is known not to have.
    package func remove(_ paths: [String], _ change: (inout SnapshotMeta) -> Void = { _ in }) throws(SQLiteError) {
        var next = meta
        change(&next)
        try connection.transaction { () throws(SQLiteError) in
            for path in paths {
                try remove.run([.text(path)])
                next.holders -= Int64(connection.changes)
            }
            try save(next)
        }
        meta = next
    }

    /// Rows behind `path` that the fill under way has not visited, among the next `limit`; and where those end.
    func unswept(after path: String, limit: Int) throws(SQLiteError) -> (paths: [String], last: String?) {
        var last: String?
        var paths: [String] = []
        let sweep = meta.sweep
        for (path, found) in try unswept.all(
            [.text(path), .integer(Int64(limit))], { (row) throws(SQLiteError) in (row.text(0), row.integer(1)) })
        {
            last = path
            if found != sweep { paths.append(path) }
        }
        return (paths, last)
    }

    private func save(_ meta: SnapshotMeta) throws(SQLiteError) {
        for (name, value) in meta.values { try setMeta.run([.text(name), .text(value)]) }
    }

    // MARK: The whole

    /// A copy that is whole and in order, at a path where nothing is.
    package func copy(to path: String) throws(SQLiteError) { try connection.copy(to: path) }

    /// What SQLite finds wrong with its structure, ten things at most; nothing when it is sound.
    package func structuralDamage() throws(SQLiteError) -> [String] {
        try connection.prepare("PRAGMA integrity_check(10)").all { (row) throws(SQLiteError) in row.text(0) }
            .filter { $0 != "ok" }
    }

    /// Without what waits in the log.
    package var bytes: Int64 {
        get throws(SQLiteError) {
            let pages = try connection.prepare("PRAGMA page_count").first { $0.integer(0) } ?? 0
            let size = try connection.prepare("PRAGMA page_size").first { $0.integer(0) } ?? 0
            return pages.multipliedReportingOverflow(by: size).partialValue
        }
    }
}
