import Glibc
import JSON
import Runtime
import TestSupport

/// A system to be examined by `holdfast doctor`: a settings file in a folder of its own.
final class Examinee: Sendable {
    struct Line {
        let status: String
        let detail: String
        let remedies: [String]
    }

    struct Result {
        let exitCode: Int32
        let output: String
        let lines: [String: Line]

        subscript(_ name: String) -> Line {
            lines[name] ?? Line(status: "there is no such line", detail: output, remedies: [])
        }
    }

    let folder: TemporaryFolder
    var settings: String { folder.file("holdfast.json") }

    /// Writes settings of one app, with further members of it in `app`; `members` are further members of the file, each with its comma.
    init(app: String? = nil, _ members: String...) throws {
        folder = try TemporaryFolder("doctor")
        try write(
            """
            {"apps": {"demo": {"bundleId": "com.example.demo", "appAppleId": 1234567890\(app.map { ", \($0)" } ?? "")}}\(members.joined())}
            """, to: "holdfast.json")
        chmod(settings, 0o600)
    }

    /// Writes a file beside the settings and returns its path.
    @discardableResult
    func write(_ text: String, to name: String, permissions: mode_t = 0o600) throws -> String {
        try write(Array(text.utf8), to: name, permissions: permissions)
    }

    @discardableResult
    func write(_ bytes: [UInt8], to name: String, permissions: mode_t = 0o600) throws -> String {
        let path = folder.file(name)
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemError(call: "open \(path)") }
        defer { close(file) }
        guard Glibc.write(file, bytes, bytes.count) == bytes.count else { throw SystemError(call: "write") }
        fchmod(file, permissions)
        return path
    }

    /// What the doctor says, as for a script.
    func examine(_ arguments: String...) async throws -> Result {
        let result = try await Command.run(
            try ChildProcess.product("holdfast"), ["doctor", "--settings", settings, "--json"] + arguments)
        guard let report = try? JSONValue.parse(Array(result.output.utf8)) else {
            return Result(exitCode: result.status, output: result.output, lines: [:])
        }
        var lines: [String: Line] = [:]
        for check in report["checks"]?.array ?? [] {
            lines[check["name"]?.string ?? ""] = Line(
                status: check["status"]?.string ?? "", detail: check["detail"]?.string ?? "",
                remedies: (check["remedies"]?.array ?? []).compactMap(\.string))
        }
        return Result(exitCode: result.status, output: result.output, lines: lines)
    }

    /// What the doctor says, as for people.
    func text(_ arguments: String...) async throws -> Command.Result {
        try await Command.run(try ChildProcess.product("holdfast"), ["doctor", "--settings", settings] + arguments)
    }
}
