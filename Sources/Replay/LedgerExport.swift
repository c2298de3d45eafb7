internal import Runtime

/// Writes messages to a file that a replay reads in place of the ledger (`LedgerLine`); whole or not at all.
package final class LedgerExport {
    private let file: NewFile
    package private(set) var count = 0

    package init(to path: String) throws(ReplayError) {
        file = try NewFile(path)
    }

    /// Writes all that the source has; false when it was interrupted, and then there is no file.
    package func run(
        _ source: any MessageSource, scope: ReplayScope, interruption: Interruption,
        progress: (Int) async -> Void = { _ in }
    ) async throws(ReplayError) -> Bool {
        while true {
            if interruption.isRequested { return false }
            let messages = try await source.next()
            if messages.isEmpty { break }
            for message in messages where scope.holds(message, receivedAt: message.receivedAt) {
                try ReplayError.file { () throws(SystemError) in try file.write(line: LedgerLine.encode(message)) }
                count += 1
            }
            await progress(count)
        }
        try ReplayError.file { () throws(SystemError) in try file.finish() }
        return true
    }
}
