internal import Redis
internal import SQLite

/// Why the file does not do what it is for, as whoever talks to Redis would be told.
struct StoreFileFailure: Error, Sendable, Hashable {
    /// What Redis says when its disk fails (`MISCONF`), its memory is used up (`OOM`), or it is held up (`BUSY`): all of
    /// these pass, or are mended by an operator, and nothing that was acknowledged is lost meanwhile.
    let reply: String
    /// Whether others of the same transaction may succeed without it.
    let isOfOneCommand: Bool

    init(_ error: SQLiteError) {
        isOfOneCommand = error.code == .tooBig || error.code == .failed
        reply =
            switch error.code {
            case .full: "OOM the embedded store is full: \(error.message)"
            case .busy: "BUSY another process writes to the embedded store: \(error.message)"
            case .corrupt, .notADatabase: "MISCONF the embedded store is damaged: \(error.message)"
            case .inputOutput, .denied: "MISCONF the embedded store's disk fails: \(error.message)"
            case .tooBig: CommandError.tooLong.text
            case .failed: "ERR \(error.message)"
            }
    }

    /// One that was told before.
    init(passing reply: String) {
        self.reply = reply
        isOfOneCommand = false
    }

    static let closed = StoreFileFailure(passing: "LOADING the embedded store is not open")
}
