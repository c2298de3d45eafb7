internal import Glibc

/// Whole small files: settings, keys, certificates.
package enum File {
    /// The bytes of the file at `path`; throws EFBIG when there are more than `limit`.
    package static func bytes(at path: String, limit: Int = 16 << 20) throws(SystemError) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw SystemError(call: "open \(path)") }
        defer { close(file) }
        return try bytes(from: file, called: path, limit: limit)
    }

    /// The bytes of standard input to its end. Not by way of /dev/stdin, which cannot be opened when it is a socket, as
    /// some programs make it for their children.
    package static func standardInput(limit: Int = 16 << 20) throws(SystemError) -> [UInt8] {
        try bytes(from: STDIN_FILENO, called: "standard input", limit: limit)
    }

    private static func bytes(from file: Int32, called name: String, limit: Int) throws(SystemError) -> [UInt8] {
        var contents: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw SystemError(call: "read \(name)") }
            if count == 0 { return contents }
            guard contents.count + count <= limit else { throw SystemError(call: "read \(name)", code: EFBIG) }
            contents.append(contentsOf: chunk[..<count])
        }
    }

    /// The text of the file at `path`; what is not UTF-8 becomes U+FFFD.
    package static func text(at path: String, limit: Int = 16 << 20) throws(SystemError) -> String {
        String(decoding: try bytes(at: path, limit: limit), as: UTF8.self)
    }
}
