import Runtime
import TestSupport

/// The metrics that the program's source makes, with the names of their labels.
struct SourceMetrics {
    enum Kind: String, CaseIterable { case counter, gauge, histogram }

    struct Metric: Hashable {
        let kind: Kind
        let labels: Set<String>
    }

    /// By name; one that is made in several places has the labels that it has in all of them.
    private(set) var metrics: [String: Metric] = [:]
    /// What could not be made out, as `file: name`.
    private(set) var puzzles: [String] = []
    /// All words that stand in the source, names and texts.
    private(set) var words: Set<String> = []

    /// All of `Sources`, read once.
    static let ofTheProgram = Task { try await SourceMetrics() }

    private init() async throws {
        let folder = "\(Command.packageFolder)/Sources"
        let files = try await Command.run("/usr/bin/find", [folder, "-name", "*.swift"]).output
        for path in files.split(separator: "\n").sorted() {
            let source = try File.text(at: String(path))
            words.formUnion(source.utf8.split { !Self.isOfWord($0) }.map { String($0) ?? "" })
            guard source.contains("\"holdfast_") else { continue }
            read(source, from: path.split(separator: "/").suffix(1).joined())
        }
    }

    init(source: String) {
        read(source, from: "source")
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private mutating func read(_ source: String, from file: String) {
        for kind in Kind.allCases {
            for call in source.ranges(of: "\(kind.rawValue)(") {
                let isLocal = source[..<call.lowerBound].last != "."
                let arguments = Self.bracketed(source[source.index(before: call.upperBound)...])
                let first = arguments.drop { $0.isWhitespace || $0 == "(" }
                guard first.hasPrefix("\"holdfast_") else { continue }
                let name = String(first.dropFirst().prefix { $0 != "\"" })
                let made = isLocal ? Self.localCall(kind, in: source) : arguments
                guard let made, let labels = Self.labels(made, in: source) else {
                    puzzles.append("\(file): \(name)")
                    continue
                }
                let known = metrics[name]?.labels ?? labels
                metrics[name] = Metric(kind: kind, labels: known.intersection(labels))
            }
        }
    }

    /// What a function of the file's own, called like the one of `Metrics`, hands on to that.
    private static func localCall(_ kind: Kind, in source: String) -> Substring? {
        guard let call = source.firstRange(of: ".\(kind.rawValue)(name,") else { return nil }
        return bracketed(source[call.lowerBound...].drop { $0 != "(" })
    }

    /// Of the dictionary after `labels:`, or of the one that a constant of that name has in the same file.
    private static func labels(_ arguments: Substring, in source: String) -> Set<String>? {
        guard let argument = arguments.firstRange(of: "labels:") else { return [] }
        let value = arguments[argument.upperBound...].drop { $0.isWhitespace }
        if value.first == "[" { return keys(of: bracketed(value)) }
        let name = value.prefix { $0.isLetter }
        guard let constant = source.firstRange(of: "let \(name): Metrics.Labels = [") else { return nil }
        return keys(of: bracketed(source[source.index(before: constant.upperBound)...]))
    }

    private static func keys(of dictionary: Substring) -> Set<String> {
        var keys: Set<String> = []
        var rest = dictionary
        while let start = rest.firstIndex(of: "\"") {
            let word = rest[rest.index(after: start)...].prefix { $0 != "\"" }
            rest = rest[word.endIndex...].dropFirst()
            if rest.first == ":" { keys.insert(String(word)) }
        }
        return keys
    }

    /// From the bracket that `text` begins with to the one that closes it; brackets in strings do not count.
    static func bracketed(_ text: Substring) -> Substring {
        var depth = 0
        var isQuoted = false
        var isEscaped = false
        for index in text.indices {
            let character = text[index]
            if isEscaped {
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if !isQuoted, "([{".contains(character) {
                depth += 1
            } else if !isQuoted, ")]}".contains(character) {
                depth -= 1
                if depth == 0 { return text[...index] }
            }
        }
        return text
    }
}
