import Glibc
import JSON
import Runtime

/// All settings of a process, each part's read by the part itself.
struct HoldfastSettings {
    enum LogLevel: String, CaseIterable { case debug, info, warning, error }

    let logLevel: Log.Level

    init(_ reader: inout SettingsReader) {
        let level = reader.choice("log.level", default: LogLevel.info, "The least level that is logged.")
        logLevel =
            switch level {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
    }

    /// Reads and checks the settings of this process; throws all mistakes at once.
    static func load(path: String?) throws -> HoldfastSettings {
        guard var reader = try reader(path: path) else {
            throw UsageError("name the settings file with --settings FILE or HOLDFAST_SETTINGS")
        }
        let settings = HoldfastSettings(&reader)
        try reader.finish()
        return settings
    }

    /// A reader over the file at `path`, or at HOLDFAST_SETTINGS, and this process's environment; nil when neither names
    /// a file.
    static func reader(path: String?) throws -> SettingsReader? {
        let environment = processEnvironment
        guard let path = path ?? environment["HOLDFAST_SETTINGS"] else { return nil }
        let bytes: [UInt8]
        do { bytes = try File.bytes(at: path, limit: 4 << 20) } catch { throw UsageError("\(error)") }
        do {
            return SettingsReader(
                file: try JSONValue.parse(bytes, allowingComments: true), environment: environment)
        } catch {
            let line = bytes.prefix(error.offset).count { $0 == UInt8(ascii: "\n") } + 1
            throw UsageError("\(path), line \(line): \(error.code.rawValue)")
        }
    }

    private static var processEnvironment: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        return variables
    }
}
