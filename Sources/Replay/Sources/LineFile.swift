internal import Glibc
internal import Runtime

/// A text file, line by line, without having all of it in memory.
@safe
final class LineFile {
    /// Longer than the longest body that may be in a message.
    static let maximumLine = 96 << 20

    let path: String
    let size: Int
    private(set) var bytesRead = 0
    private(set) var lineNumber = 0
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false

    init(_ path: String) throws(SystemError) {
        self.path = path
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(call: "open \(path)") }
        let end = lseek(descriptor, 0, SEEK_END)
        // What has no size, such as a pipe, is read all the same.
        size = max(0, Int(end))
        if end > 0 { lseek(descriptor, 0, SEEK_SET) }
    }

    deinit { close(descriptor) }

    /// The next line without its end; nil at the end of the file.
    func next() throws(SystemError) -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                lineNumber += 1
                return Array(buffer[start..<end])
            }
            guard !isAtEnd else {
                guard start < buffer.count else { return nil }
                defer { start = buffer.count }
                lineNumber += 1
                return Array(buffer[start...])
            }
            guard buffer.count - start < Self.maximumLine else {
                throw SystemError(call: "read line \(lineNumber + 1) of \(path)", code: EFBIG)
            }
            buffer.removeFirst(start)
            start = 0
            searched = buffer.count
            try fill()
        }
    }

    private func fill() throws(SystemError) {
        var chunk = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw SystemError(call: "read \(path)") }
            isAtEnd = count == 0
            bytesRead += count
            buffer.append(contentsOf: chunk[..<count])
            return
        }
    }
}
