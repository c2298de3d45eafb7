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
