internal import Glibc

/// Whole small files: settings, keys, certificates, product maps.
package enum File {
    /// The bytes of a file that settings name, or of the settings themselves. Only a regular file will do: opening a
    /// named pipe waits for somebody to write, and a device may never end.
    package static func regularBytes(at path: String, limit: Int = 16 << 20) throws(SystemError) -> [UInt8] {
        let facts: FileFacts
        do { facts = try FileFacts(of: path) } catch { throw SystemError(call: "open \(path)", code: error.code) }
        if let other = facts.otherKind {
            throw SystemError(call: "open \(path)", code: EINVAL, reason: "it is \(other), not a regular file")
        }
        // Should it have become something else meanwhile, that does not keep us waiting either.
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw SystemError(call: "open \(path)") }
        defer { close(file) }
        return try bytes(from: file, called: path, limit: limit)
    }

    /// The text of a file that settings name; what is not UTF-8 becomes U+FFFD.
    package static func regularText(at path: String, limit: Int = 16 << 20) throws(SystemError) -> String {
        String(decoding: try regularBytes(at: path, limit: limit), as: UTF8.self)
    }

    /// The bytes of the file at `path`, be it a pipe or a device; throws EFBIG when there are more than `limit`.
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

    /// Puts `bytes` at `path` whole or not at all, on the disk when it returns: written beside, synced, renamed.
    package static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        let draft = "\(path).\(getpid())-\(String(UInt32.random(in: .min ... .max), radix: 16)).tmp"
        do throws(SystemError) {
            try write(bytes, toNew: draft)
            guard unsafe rename(draft, path) == 0 else { throw SystemError(call: "rename to \(path)") }
        } catch {
            _ = unsafe unlink(draft)
            throw error
        }
        try synchronizeFolder(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
    }

    private static func write(_ bytes: [UInt8], toNew path: String) throws(SystemError) {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemError(call: "open \(path)") }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw SystemError(call: "write \(path)") }
            rest = rest.dropFirst(count)
        }
        guard fsync(file) == 0 else { throw SystemError(call: "fsync \(path)") }
    }

    /// Makes created, renamed and removed files survive a power cut.
    private static func synchronizeFolder(_ path: String) throws(SystemError) {
        let folder = unsafe open(path.isEmpty ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw SystemError(call: "open \(path)") }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw SystemError(call: "fsync \(path)") }
    }

    /// Makes the folder at `path`, for its owner alone, and those above it, where they are missing.
    package static func makeFolder(_ path: String) throws(SystemError) {
        if unsafe mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
            throw SystemError(call: "mkdir \(path)")
        }
        try makeFolder(String(path[..<slash]))
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError(call: "mkdir \(path)") }
    }

    /// Gives the file at `path` another name, which is taken from whoever has it.
    package static func move(_ path: String, to other: String) throws(SystemError) {
        guard unsafe rename(path, other) == 0 else { throw SystemError(call: "rename \(path)") }
    }
}
