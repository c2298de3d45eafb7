internal import Glibc
internal import JSON
internal import Time

/// Writes one JSON object a line: `time`, `level`, `part`, `event`, then the fields.
///
/// `event` is a fixed sentence to search for; whatever varies is a field. A notification can be followed by the field
/// `correlation` from intake to Redis.
package struct Log: Sendable {
    package enum Level: Int, Sendable, Comparable, CaseIterable {
        case debug, info, warning, error
        package static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    package enum Value: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
        ExpressibleByBooleanLiteral, ExpressibleByStringInterpolation
    {
        case string(String)
        case integer(Int64)
        case bool(Bool)
        package init(stringLiteral value: String) { self = .string(value) }
        package init(integerLiteral value: Int64) { self = .integer(value) }
        package init(booleanLiteral value: Bool) { self = .bool(value) }
        package init(_ value: some BinaryInteger) { self = .integer(Int64(clamping: value)) }
        package init(_ value: Bool) { self = .bool(value) }
        /// Whatever describes itself: an error, a path, an identifier.
        package init(_ value: Any) { self = .string("\(value)") }
    }

    package typealias Fields = KeyValuePairs<String, Value>

    /// Where lines go. Each call brings one whole line with its line feed.
    package typealias Sink = @Sendable ([UInt8]) -> Void

    private let part: String
    private let minimum: Level
    private let fields: [(String, Value)]
    private let clock: WallClock
    private let sink: Sink

    /// Logs to standard error unless told otherwise.
    package init(
        part: String, minimum: Level = .info, clock: WallClock = .system, sink: @escaping Sink = Log.standardError
    ) {
        self.init(part: part, minimum: minimum, fields: [], clock: clock, sink: sink)
    }

    private init(
        part: String, minimum: Level, fields: [(String, Value)], clock: WallClock, sink: @escaping Sink
    ) {
        self.part = part
        self.minimum = minimum
        self.fields = fields
        self.clock = clock
        self.sink = sink
    }

    /// The same log for another part of the process.
    package func part(_ part: String) -> Log {
        Log(part: part, minimum: minimum, fields: fields, clock: clock, sink: sink)
    }

    /// The same log with `fields` on every line.
    package func with(_ fields: Fields) -> Log {
        Log(
            part: part, minimum: minimum, fields: self.fields + fields.map { ($0.key, $0.value) }, clock: clock,
            sink: sink)
    }

    package func debug(_ event: StaticString, _ fields: Fields = [:]) { write(.debug, event, fields) }
    package func info(_ event: StaticString, _ fields: Fields = [:]) { write(.info, event, fields) }
    package func warning(_ event: StaticString, _ fields: Fields = [:]) { write(.warning, event, fields) }
    package func error(_ event: StaticString, _ fields: Fields = [:]) { write(.error, event, fields) }

    private func write(_ level: Level, _ event: StaticString, _ fields: Fields) {
        guard level >= minimum else { return }
        var line = JSONWriter()
        line.beginObject()
        line.member("time", clock.now().rfc3339)
        line.member("level", "\(level)")
        line.member("part", part)
        line.member("event", event.description)
        for (name, value) in self.fields { line.member(name, value) }
        for (name, value) in fields { line.member(name, value) }
        line.endObject()
        sink(line.bytes + [UInt8(ascii: "\n")])
    }

    /// One `write` a line, so that lines of several threads and processes do not mix.
    package static let standardError: Sink = { line in
        var rest = line[...]
        while !rest.isEmpty {
            let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if written < 0 && errno == EINTR { continue }
            // A log that cannot be written has nowhere left to say so.
            guard written > 0 else { return }
            rest = rest.dropFirst(written)
        }
    }

    /// Writes nothing; for tests.
    package static let discarding = Log(part: "", minimum: .error) { _ in }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, _ value: Log.Value) {
        switch value {
        case .string(let value): member(name, value)
        case .integer(let value): member(name, value)
        case .bool(let value): member(name, value)
        }
    }
}
