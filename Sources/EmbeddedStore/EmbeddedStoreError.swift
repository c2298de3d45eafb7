/// Why an embedded store does not open.
package enum EmbeddedStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// It is the store itself, so it is neither thrown away nor set aside: somebody must decide.
    case damaged(path: String, reason: String)
    case foreign(path: String, reason: String)
    case newer(path: String, version: Int)
    case unreachable(path: String, reason: String)

    package var description: String {
        switch self {
        case .damaged(let path, let reason):
            """
            \(path) is damaged (\(reason)) and is left as it is. Put a backup in its place; or move it and its -wal and \
            -shm files away, begin with an empty store, and fill it with holdfast replay --apply from the ledger
            """
        case .foreign(let path, let reason):
            "\(path) is not an embedded store of Holdfast (\(reason)) and is left as it is: set embedded.folder to another folder"
        case .newer(let path, let version):
            "\(path) was written by a newer Holdfast (format \(version)): run that version or a newer one"
        case .unreachable(let path, let reason):
            "\(path) cannot be opened (\(reason)): embedded.folder must be a folder on a local disk that this user may write to"
        }
    }
}
