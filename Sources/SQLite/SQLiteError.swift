internal import CSQLite

/// Why SQLite did not do what it was asked.
package struct SQLiteError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// Somebody else writes, for longer than the connection waits.
        case busy
        /// No room is left on the disk, or in the file's own bound.
        case full
        /// The file is damaged.
        case corrupt
        /// The file is no database.
        case notADatabase
        /// The disk failed, or the file is out of reach.
        case inputOutput
        /// The file may be read only, or may not be opened.
        case denied
        /// A value or a statement is longer than SQLite takes.
        case tooBig
        /// Anything else, mostly a mistake in a statement.
        case failed
    }

    package let code: Code
    /// SQLite's extended result code (https://www.sqlite.org/rescode.html).
    package let number: Int32
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        number = 0
        self.message = message
    }

    init(number: Int32, message: String) {
        self.number = number
        self.message = message
        code =
            switch number & 0xff {
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_FULL: .full
            case SQLITE_CORRUPT: .corrupt
            case SQLITE_NOTADB: .notADatabase
            case SQLITE_IOERR: .inputOutput
            case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .denied
            case SQLITE_TOOBIG: .tooBig
            default: .failed
            }
    }

    /// Whether the file itself is at fault, so that nothing but another file helps.
    package var isDamage: Bool { code == .corrupt || code == .notADatabase }

    package var description: String { "sqlite: \(code): \(message)" }
}
