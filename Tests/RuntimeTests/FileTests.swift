import Glibc
import Runtime
import TestSupport
import Testing

/// Files that settings name must be files.
@Suite(.timeLimit(.minutes(6))) struct FileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder("files") }

    private func failure(_ path: String) -> String? {
        do throws(SystemError) {
            _ = try File.regularBytes(at: path)
            return nil
        } catch { return error.description }
    }

    @Test func whatIsNoRegularFileIsRefusedAtOnceAndSaysWhatItIs() throws {
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let link = folder.file("link")
        #expect(symlink(pipe, link) == 0)
        for (path, kind) in [
            (pipe, "a named pipe"), (link, "a named pipe"), ("/dev/zero", "a device"), (folder.path, "a folder"),
        ] {
            #expect(failure(path) == "open \(path): it is \(kind), not a regular file")
        }
        #expect(failure(folder.file("none")) == "open \(folder.file("none")): No such file or directory")
    }

    @Test func aRegularFileIsReadToItsLimit() throws {
        let path = try folder.write("0123456789", to: "file")
        #expect(try File.regularText(at: path, limit: 10) == "0123456789")
        #expect(throws: SystemError.self) { try File.regularBytes(at: path, limit: 9) }
        let link = folder.file("to-file")
        #expect(symlink(path, link) == 0)
        #expect(try File.regularText(at: link) == "0123456789")
    }
}
