internal import CSQLite

/// A prepared statement, of its connection's thread.
///
///     let find = try connection.prepare("SELECT value FROM pairs WHERE key = ?")
///     let values = try find.all([.text("a")]) { row in row.bytes(0) }
@safe package final class SQLiteStatement {
    package enum Value: Sendable, Hashable {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case bytes([UInt8])
    }

    private let handle: OpaquePointer
    private let connection: SQLiteConnection

    init(_ handle: OpaquePointer, of connection: SQLiteConnection) {
        unsafe self.handle = handle
        self.connection = connection
    }

    deinit { unsafe sqlite3_finalize(handle) }

    /// Begins anew with these values for the statement's `?`, in order.
    package func bind(_ values: [Value] = []) throws(SQLiteError) {
        reset()
        for (index, value) in values.enumerated() {
            let place = Int32(clamping: index + 1)
            let status: Int32
            switch value {
            case .null: status = unsafe sqlite3_bind_null(handle, place)
            case .integer(let number): status = unsafe sqlite3_bind_int64(handle, place, number)
            case .real(let number): status = unsafe sqlite3_bind_double(handle, place, number)
            case .text(let text):
                status = unsafe text.utf8CString.withUnsafeBufferPointer { characters in
                    // Without the NUL that stands behind it.
                    unsafe holdfast_sqlite_bind_text(
                        handle, place, characters.baseAddress, Int32(clamping: characters.count - 1))
                }
            case .bytes(let bytes):
                status = unsafe bytes.withUnsafeBytes { bytes in
                    unsafe holdfast_sqlite_bind_blob(handle, place, bytes.baseAddress, Int32(clamping: bytes.count))
                }
            }
            try connection.check(status)
        }
    }

    /// Goes on to the next row; false after the last, and for a statement that has none.
    package func step() throws(SQLiteError) -> Bool {
        let status = unsafe sqlite3_step(handle)
        if status == SQLITE_ROW { return true }
        // Whatever came of it, nothing of it must keep others from writing.
        defer { reset() }
        try connection.check(status)
        return false
    }

    /// Runs the statement to its end and drops its rows.
    package func run(_ values: [Value] = []) throws(SQLiteError) {
        try bind(values)
        while try step() {}
    }

    /// Runs the statement and gives what `read` makes of its first row; nil when there is none.
    package func first<Result>(
        _ values: [Value] = [], _ read: (SQLiteStatement) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result? {
        try bind(values)
        defer { reset() }
        return try step() ? try read(self) : nil
    }

    /// Runs the statement and gives what `read` makes of each row.
    package func all<Result>(
        _ values: [Value] = [], _ read: (SQLiteStatement) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> [Result] {
        try bind(values)
        defer { reset() }
        var results: [Result] = []
        while try step() { results.append(try read(self)) }
        return results
    }

    /// Ends what is under way; the values are forgotten.
    package func reset() {
        // It repeats the error of the last step, which was thrown already.
        _ = unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    // MARK: The present row; columns count from 0

    package func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }

    package func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    package func real(_ column: Int32) -> Double { unsafe sqlite3_column_double(handle, column) }

    package func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    package func bytes(_ column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
