internal import Glibc
internal import SQLite

/// Opens the file in which an embedded store lies, and makes it when it is not there.
///
/// | table | what |
/// |---|---|
/// | `facts` | the file's identity |
/// | `keys` | each key: its place in SCAN's order, its type, when it expires (wall clock, ms), a string's value |
/// | `hashes`, `lists`, `scores`, `entries` | what hashes, lists, sorted sets and streams hold |
/// | `streams` | of each stream the last id, how many entries were ever added, and how many it has |
enum StoreFile {
    static let applicationID: Int64 = 0x4866_5374
    static let version: Int64 = 1
    /// A larger file is not read through before it is used: that would take too long.
    private static let examinedBytes: Int64 = 256 << 20

    private enum Fault: Error {
        case foreign(String)
        case newer(Int64)
        case damaged(String)
        case sqlite(SQLiteError)
    }

    /// A connection to a sound file of this version. It blocks the calling thread.
    static func open(
        _ settings: EmbeddedStoreSettings, writes: Bool
    ) throws(EmbeddedStoreError) -> SQLiteConnection {
        let path = settings.path
        do throws(Fault) {
            if writes, settings.makesFile { makeFolder(of: path) }
            return try connect(settings, writes: writes)
        } catch {
            switch error {
            case .foreign(let reason): throw .foreign(path: path, reason: reason)
            case .newer(let version): throw .newer(path: path, version: Int(clamping: version))
            case .damaged(let reason): throw .damaged(path: path, reason: reason)
            case .sqlite(let error) where error.code == .corrupt: throw .damaged(path: path, reason: error.message)
            case .sqlite(let error) where error.code == .notADatabase:
                throw .foreign(path: path, reason: error.message)
            case .sqlite(let error): throw .unreachable(path: path, reason: error.message)
            }
        }
    }

    /// What comes of it shows when the file is opened.
    static func makeFolder(of path: String) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        let folder = String(path[..<slash])
        if unsafe mkdir(folder, 0o700) == 0 || errno != ENOENT { return }
        makeFolder(of: folder)
        _ = unsafe mkdir(folder, 0o700)
    }

    private static func connect(_ settings: EmbeddedStoreSettings, writes: Bool) throws(Fault) -> SQLiteConnection {
        let connection: SQLiteConnection
        do {
            connection = try SQLiteConnection(
                path: settings.path, mode: writes && settings.makesFile ? .create : .readWrite)
        } catch {
            throw .sqlite(error)
        }
        try run(
            connection,
            """
            PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;
            PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY;
            """)
        let application = try number(connection, "PRAGMA application_id")
        let isNew = application == 0 ? try number(connection, "SELECT count(*) FROM sqlite_schema") == 0 : false
        guard application == applicationID || isNew else { throw .foreign("it is another program's database") }
        let found = try number(connection, "PRAGMA user_version")
        if found > version { throw .newer(found) }
        guard writes else {
            try run(connection, "PRAGMA query_only = ON")
            return connection
        }
        try run(connection, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000")
        let pageSize = max(512, try number(connection, "PRAGMA page_size"))
        try run(connection, "PRAGMA max_page_count = \(max(32, Int64(settings.maximumBytes) / pageSize))")
        if isNew { try make(connection) }
        if try number(connection, "PRAGMA page_count") &* pageSize <= examinedBytes {
            let verdict = try text(connection, "PRAGMA quick_check(1)")
            if verdict != "ok" { throw .damaged(verdict) }
        }
        return connection
    }

    private static func make(_ connection: SQLiteConnection) throws(Fault) {
        do throws(SQLiteError) {
            try connection.transaction { () throws(SQLiteError) in
                // Another process may have been faster.
                try connection.execute(
                    """
                    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TABLE IF NOT EXISTS keys (
                        id INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB NOT NULL UNIQUE, place INTEGER NOT NULL,
                        type INTEGER NOT NULL, expires INTEGER, value BLOB);
                    CREATE INDEX IF NOT EXISTS keys_place ON keys (place);
                    CREATE INDEX IF NOT EXISTS keys_expires ON keys (expires) WHERE expires IS NOT NULL;
                    CREATE TABLE IF NOT EXISTS hashes (
                        key INTEGER NOT NULL, field BLOB NOT NULL, value BLOB NOT NULL,
                        PRIMARY KEY (key, field)) WITHOUT ROWID;
                    CREATE TABLE IF NOT EXISTS lists (
                        key INTEGER NOT NULL, place INTEGER NOT NULL, value BLOB NOT NULL,
                        PRIMARY KEY (key, place)) WITHOUT ROWID;
                    CREATE TABLE IF NOT EXISTS scores (
                        key INTEGER NOT NULL, member BLOB NOT NULL, score REAL NOT NULL,
                        PRIMARY KEY (key, member)) WITHOUT ROWID;
                    CREATE INDEX IF NOT EXISTS scores_order ON scores (key, score, member);
                    CREATE TABLE IF NOT EXISTS streams (
                        key INTEGER PRIMARY KEY, ms INTEGER NOT NULL, sequence INTEGER NOT NULL,
                        added INTEGER NOT NULL, length INTEGER NOT NULL);
                    CREATE TABLE IF NOT EXISTS entries (
                        key INTEGER NOT NULL, ms INTEGER NOT NULL, sequence INTEGER NOT NULL, fields BLOB NOT NULL,
                        PRIMARY KEY (key, ms, sequence)) WITHOUT ROWID;
                    INSERT OR IGNORE INTO facts VALUES ('identity', lower(hex(randomblob(20))));
                    PRAGMA application_id = \(applicationID);
                    PRAGMA user_version = \(version);
                    """)
            }
        } catch { throw .sqlite(error) }
    }

    private static func run(_ connection: SQLiteConnection, _ sql: String) throws(Fault) {
        do { try connection.execute(sql) } catch { throw .sqlite(error) }
    }

    private static func number(_ connection: SQLiteConnection, _ sql: String) throws(Fault) -> Int64 {
        do {
            return try connection.prepare(sql).first { (row) throws(SQLiteError) in row.integer(0) } ?? 0
        } catch { throw .sqlite(error) }
    }

    private static func text(_ connection: SQLiteConnection, _ sql: String) throws(Fault) -> String {
        do {
            return try connection.prepare(sql).first { (row) throws(SQLiteError) in row.text(0) } ?? ""
        } catch { throw .sqlite(error) }
    }
}
