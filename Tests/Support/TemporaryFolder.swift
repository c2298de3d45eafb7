import Glibc

/// A folder of a test's own under the system's temporary folder; gone with the last reference to it.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init(_ purpose: String = "test") throws {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/holdfast-\(purpose)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CommandError("mkdtemp: \(String(cString: strerror(errno)))") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The path of something in the folder.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file of this content, only for its owner to read, and returns its path.
    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws -> String {
        let path = file(name)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CommandError("open \(path): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw CommandError("write \(path): \(String(cString: strerror(errno)))") }
            rest = rest.dropFirst(count)
        }
        return path
    }

    @discardableResult
    package func write(_ text: String, to name: String) throws -> String { try write(Array(text.utf8), to: name) }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        // Links are removed, never followed.
        if unlink(path) == 0 { return }
        guard let folder = opendir(path) else { return }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        closedir(folder)
        for name in names { remove("\(path)/\(name)") }
        rmdir(path)
    }
}
