internal import Runtime
package import SQLite

/// Why a snapshot cannot be opened, read or written.
package enum SnapshotFailure: Error, Sendable, CustomStringConvertible {
    case sqlite(SQLiteError)
    /// It is not what this version of Holdfast writes, and why.
    case damaged(String)
    /// Somebody else's database.
    case foreign(String)
    /// A later version's; which.
    case newer(Int64)
    /// The folder cannot be used.
    case folder(String)

    /// Whether nothing but another file helps.
    package var isOfTheFile: Bool {
        switch self {
        case .sqlite(let error): error.isDamage
        case .damaged, .foreign, .newer: true
        case .folder: false
        }
    }

    package var description: String {
        switch self {
        case .sqlite(let error): "\(error)"
        case .damaged(let reason): "damaged: \(reason)"
        case .foreign(let reason): "not a snapshot of Holdfast: \(reason)"
        case .newer(let version):
            "of format \(version), which is a later version's; this version writes \(SnapshotFile.formatVersion)"
        case .folder(let reason): reason
        }
    }
}
