internal import JSON
internal import Runtime

/// Messages from files: exports of the ledger, lines of bodies, or one body a file (`LedgerLine`).
package actor FileSource: MessageSource {
    private static let batch = 256
    /// A file that holds one body over several lines is no larger than a body may be.
    private static let maximumBody = 16 << 20

    private let app: String?
    private let total: Int
    private var waiting: [String]
    private var current: LineFile?
    private var done = 0

    /// `app` is whose bodies are that stand by themselves.
    package init(_ paths: [String], app: String?) throws(ReplayError) {
        self.app = app
        waiting = paths.reversed()
        var total = 0
        for path in paths { total += try ReplayError.file { () throws(SystemError) in try LineFile(path).size } }
        self.total = total
    }

    package var share: Double { total == 0 ? 1 : min(1, Double(done + (current?.bytesRead ?? 0)) / Double(total)) }

    package func next() async throws(ReplayError) -> [LedgerMessage] {
        var messages: [LedgerMessage] = []
        while messages.count < Self.batch {
            guard let file = current else {
                guard let path = waiting.popLast() else { break }
                current = try ReplayError.file { () throws(SystemError) in try LineFile(path) }
                continue
            }
            guard let line = try ReplayError.file({ () throws(SystemError) in try file.next() }) else {
                done += file.bytesRead
                current = nil
                continue
            }
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            messages.append(try message(line, file))
        }
        return messages
    }

    private func message(_ line: [UInt8], _ file: LineFile) throws(ReplayError) -> LedgerMessage {
        let place = LedgerMessage.Place.line(file.lineNumber, of: file.path)
        do throws(ReplayError) { return try LedgerLine.decode(line, app: app, at: place) } catch {
            // A body that was saved with line breaks in it has no line of its own.
            guard file.lineNumber == 1, file.size <= Self.maximumBody, let body = try wholeBody(file.path) else {
                throw error
            }
            done += file.size
            current = nil
            return try LedgerLine.decode(body, app: app, at: place)
        }
    }

    private func wholeBody(_ path: String) throws(ReplayError) -> [UInt8]? {
        let bytes = try ReplayError.file { () throws(SystemError) in
            try File.bytes(at: path, limit: Self.maximumBody)
        }
        do throws(JSONError) { return try JSONValue.parse(bytes)["signedPayload"] == nil ? nil : bytes } catch {
            // The mistake in the first line is the one to tell of.
            return nil
        }
    }
}
