internal import Glibc
internal import Runtime

/// A file that is there whole or not at all: written beside its place, synced, and put there at the end.
@safe
final class NewFile {
    private let path: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var isFinished = false

    private var draft: String { "\(path).partial" }

    init(_ path: String) throws(ReplayError) {
        self.path = path
        if let kind = try? FileFacts(of: path).otherKind {
            throw .file("\(path) is \(kind): name a file that is not there yet, or a regular one")
        }
        // What an earlier run left goes; whatever else lies there, such as a link, is not written through.
        unsafe unlink("\(path).partial")
        // Bodies name customers: for nobody else to read.
        descriptor = unsafe open("\(path).partial", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file("\(SystemError(call: "open \(path)"))") }
    }

    deinit {
        close(descriptor)
        if !isFinished { unsafe unlink(draft) }
    }

    func write(line: [UInt8]) throws(SystemError) {
        buffer.append(contentsOf: line)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= 1 << 20 { try flush() }
    }

    func finish() throws(SystemError) {
        try flush()
        guard fsync(descriptor) == 0 else { throw SystemError(call: "fsync \(path)") }
        guard unsafe rename(draft, path) == 0 else { throw SystemError(call: "put in place \(path)") }
        isFinished = true
    }

    private func flush() throws(SystemError) {
        var rest = buffer[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw SystemError(call: "write \(path)") }
            rest = rest.dropFirst(count)
        }
        buffer.removeAll(keepingCapacity: true)
    }
}
