internal import CSQLite
internal import Glibc

/// One connection to a database file. It belongs to one thread at a time and blocks it: use it on a thread of its own.
@safe package final class SQLiteConnection {
    package enum Mode: Sendable {
        /// The file must be there and stays as it is.
        case readOnly
        /// The file must be there.
        case readWrite
        /// The file is made when it is not there.
        case create
    }

    private let handle: OpaquePointer

    /// Opens the file at `path`. `patience` is how long a call waits for somebody else who writes.
    ///
    /// Damage shows at the first statement, not here.
    package init(path: String, mode: Mode, patience: Duration = .seconds(5)) throws(SQLiteError) {
        let access =
            switch mode {
            case .readOnly: SQLITE_OPEN_READONLY
            case .readWrite: SQLITE_OPEN_READWRITE
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            }
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        var opened: OpaquePointer?
        let status = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard status == SQLITE_OK, let handle = unsafe opened else {
            let message = unsafe opened.map { unsafe String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            unsafe sqlite3_close_v2(opened)
            throw SQLiteError(number: status, message: "\(path): \(message)")
        }
        unsafe self.handle = handle
        unsafe sqlite3_busy_timeout(handle, Int32(clamping: Int64(patience / .milliseconds(1))))
    }

    /// Statements that are still alive keep the file open until they are gone, too.
    deinit { unsafe sqlite3_close_v2(handle) }

    /// Runs statements without parameters, one after the other, and drops their rows.
    package func execute(_ sql: String) throws(SQLiteError) {
        try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// Prepares one statement, to be run any number of times.
    package func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        var prepared: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try check(unsafe sqlite3_prepare_v3(handle, sql, -1, flags, &prepared, nil))
        guard let statement = unsafe prepared else { throw SQLiteError(.failed, "no statement: \(sql)") }
        return unsafe SQLiteStatement(statement, of: self)
    }

    /// Carries out `body` as one transaction, which begins with the right to write; undone when it throws.
    ///
    /// Once this returns, what was written is as durable as `PRAGMA synchronous` says.
    package func transaction<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            // A full disk may have rolled back by itself, and then there is nothing to undo.
            if unsafe sqlite3_get_autocommit(handle) == 0 { unsafe sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
            throw error
        }
    }

    /// Rows that the last INSERT, UPDATE or DELETE changed.
    package var changes: Int { Int(unsafe sqlite3_changes64(handle)) }

    /// Copies everything into a new file at `path`, which must not be there; the copy is small and in order.
    package func copy(to path: String) throws(SQLiteError) {
        let statement = try prepare("VACUUM INTO ?")
        try statement.bind([.text(path)])
        _ = try statement.step()
    }

    func check(_ status: Int32) throws(SQLiteError) {
        guard status != SQLITE_OK && status != SQLITE_ROW && status != SQLITE_DONE else { return }
        throw SQLiteError(number: status, message: unsafe String(cString: sqlite3_errmsg(handle)))
    }
}
