import SQLite
import TestSupport
import Testing

@Suite struct SQLiteTests {
    private static func open(_ folder: TemporaryFolder, _ mode: SQLiteConnection.Mode = .create) throws
        -> SQLiteConnection
    { try SQLiteConnection(path: folder.file("test.db"), mode: mode, patience: .milliseconds(50)) }

    private static func code(_ body: () throws(SQLiteError) -> Void) -> SQLiteError.Code? {
        do throws(SQLiteError) {
            try body()
            return nil
        } catch { return error.code }
    }

    @Test func everyKindOfValueComesBackAsItWas() throws {
        let folder = try TemporaryFolder("sqlite")
        let connection = try Self.open(folder)
        try connection.execute("CREATE TABLE t (n, i, r, t, e, b, z)")
        let values: [SQLiteStatement.Value] = [
            .null, .integer(.min), .real(1.5), .text("a\0ä"), .text(""), .bytes([0, 255]), .bytes([]),
        ]
        try connection.prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)").run(values)
        let kinds = try connection.prepare("SELECT typeof(e), typeof(z) FROM t").first { ($0.text(0), $0.text(1)) }
        #expect(kinds?.0 == "text")
        #expect(kinds?.1 == "blob")
        let row = try connection.prepare("SELECT n, i, r, t, e, b, z FROM t").first { row in
            (row.isNull(0), row.integer(1), row.real(2), row.text(3), row.text(4), row.bytes(5), row.bytes(6))
        }
        #expect(row?.0 == true)
        #expect(row?.1 == .min)
        #expect(row?.2 == 1.5)
        #expect(row?.3 == "a\0ä")
        #expect(row?.4 == "")
        #expect(row?.5 == [0, 255])
        #expect(row?.6 == [])
    }

    @Test func aTransactionThatThrowsLeavesNothing() throws {
        let folder = try TemporaryFolder("sqlite")
        let connection = try Self.open(folder)
        try connection.execute("CREATE TABLE t (x)")
        let code = Self.code { () throws(SQLiteError) in
            try connection.transaction { () throws(SQLiteError) in
                try connection.execute("INSERT INTO t VALUES (1)")
                try connection.execute("INSERT INTO nowhere VALUES (1)")
            }
        }
        #expect(code == .failed)
        let count = try connection.prepare("SELECT count(*) FROM t").first { $0.integer(0) }
        #expect(count == 0)
        try connection.transaction { () throws(SQLiteError) in try connection.execute("INSERT INTO t VALUES (2)") }
        let values = try connection.prepare("SELECT x FROM t").all { $0.integer(0) }
        #expect(values == [2])
    }

    @Test func whoComesSecondWaitsAndIsToldThatSomebodyElseWrites() throws {
        let folder = try TemporaryFolder("sqlite")
        let first = try Self.open(folder)
        try first.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x)")
        let second = try Self.open(folder)
        try first.execute("BEGIN IMMEDIATE")
        let code = Self.code { () throws(SQLiteError) in try second.execute("INSERT INTO t VALUES (1)") }
        #expect(code == .busy)
    }

    @Test func whatIsNoDatabaseIsToldFromWhatIsNotThere() throws {
        let folder = try TemporaryFolder("sqlite")
        let absent = Self.code { () throws(SQLiteError) in
            _ = try SQLiteConnection(path: folder.file("no"), mode: .readOnly)
        }
        #expect(absent == .denied)
        try folder.write(String(repeating: "no database ", count: 1000), to: "test.db")
        let connection = try Self.open(folder, .readWrite)
        let code = Self.code { () throws(SQLiteError) in try connection.execute("SELECT * FROM sqlite_schema") }
        #expect(code == .notADatabase)
    }

    @Test func aFileThatMayNotGrowIsFullAndKeepsWhatItHas() throws {
        let folder = try TemporaryFolder("sqlite")
        let connection = try Self.open(folder)
        try connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1); PRAGMA max_page_count = 4")
        let insert = try connection.prepare("INSERT INTO t VALUES (?)")
        let code = Self.code { () throws(SQLiteError) in
            try connection.transaction { () throws(SQLiteError) in
                try insert.run([.bytes([UInt8](repeating: 1, count: 100_000))])
            }
        }
        #expect(code == .full)
        try insert.run([.integer(2)])
        let values = try connection.prepare("SELECT x FROM t").all { $0.integer(0) }
        #expect(values == [1, 2])
    }

    @Test func aCopyHasEverything() throws {
        let folder = try TemporaryFolder("sqlite")
        let connection = try Self.open(folder)
        try connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (7)")
        try connection.copy(to: folder.file("copy.db"))
        let copy = try SQLiteConnection(path: folder.file("copy.db"), mode: .readOnly)
        let values = try copy.prepare("SELECT x FROM t").all { $0.integer(0) }
        #expect(values == [7])
    }
}
