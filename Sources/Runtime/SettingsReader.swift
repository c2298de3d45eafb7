package import JSON

/// Reads settings from one file and the environment, checks them and documents them.
///
/// The file is JSON with `//` comments. Each key `part.keyName` may also be given as the environment variable
/// `HOLDFAST_PART_KEY_NAME`, which wins. Reading goes on after a mistake so that `finish()` can name all of them at once;
/// what nobody asked for is a mistake too, and the nearest known name is suggested.
package struct SettingsReader: Sendable {
    /// One documented key.
    package struct Key: Sendable {
        /// Dotted; `*` stands for a name that the operator chooses.
        package let name: String
        package let type: String
        package let defaultValue: String?
        package let range: String?
        package let help: String
        /// What is in force, secrets redacted; nil when nothing is set and there is no default.
        package fileprivate(set) var effectiveValue: String?
    }

    /// A file that a setting names.
    package struct NamedFile: Sendable, Hashable {
        package let setting: String
        package let path: String
        /// Whether nobody else should be able to read it.
        package let holdsSecret: Bool
    }

    package private(set) var keys: [Key] = []
    /// The files that the settings name, readable or not.
    package private(set) var files: [NamedFile] = []
    /// The secrets that stand in the settings file itself.
    package private(set) var secretsWithin: [String] = []

    private let file: JSONValue
    private let environment: [String: String]
    private let readFile: @Sendable (String) throws -> String
    private let isDocumenting: Bool
    private var scope: [String] = []
    private var documentedScope: [String] = []
    private var claimed: Set<[String]> = []
    private var claimedVariables: Set<String> = ["HOLDFAST_SETTINGS"]
    private var problems: [String] = []

    /// `environment` is the whole of it; only names that begin with `HOLDFAST_` count. `readFile` gives the text of a
    /// file that holds a secret.
    package init(
        file: JSONValue, environment: [String: String],
        readFile: @escaping @Sendable (String) throws -> String = { try File.regularText(at: $0) }
    ) {
        self.init(file: file, environment: environment, isDocumenting: false, readFile: readFile)
    }

    /// A reader over nothing, for listing the keys: names that operators choose appear as `*`, and defaults hold.
    package static var documenting: SettingsReader {
        SettingsReader(file: .object(JSONObject()), environment: [:], isDocumenting: true) { _ in "" }
    }

    private init(
        file: JSONValue, environment: [String: String], isDocumenting: Bool,
        readFile: @escaping @Sendable (String) throws -> String
    ) {
        self.file = file
        self.environment = environment.filter { $0.key.hasPrefix("HOLDFAST_") }
        self.isDocumenting = isDocumenting
        self.readFile = readFile
        if file.object == nil { problems.append("the settings file must be one JSON object") }
    }

    // MARK: Kinds of settings

    package mutating func string(_ key: String, default fallback: String, _ help: String) -> String {
        read(key, .text, fallback, fallback, help) { $0 } ?? fallback
    }

    package mutating func optionalString(_ key: String, _ help: String) -> String? {
        read(key, .text, nil, nil, help) { $0 }
    }

    /// The path of a file that can be read.
    package mutating func optionalFile(_ key: String, holdsSecret: Bool = false, _ help: String) -> String? {
        let readFile = readFile
        var named: String?
        let readable = read(key, .text, nil, nil, help) { path in
            named = path
            do { _ = try readFile(path) } catch {
                throw Complaint("cannot be read: \(error)", contrastsValue: false)
            }
            return path
        }
        note(named, of: key, holdsSecret: holdsSecret)
        return readable
    }

    /// Remembers a file that a setting names and this reader does not read itself.
    package mutating func note(_ path: String?, of key: String, holdsSecret: Bool) {
        guard let path else { return }
        files.append(
            NamedFile(setting: self.path(key).joined(separator: "."), path: path, holdsSecret: holdsSecret))
    }

    /// A string that must be given.
    package mutating func requiredString(_ key: String, _ help: String) -> String {
        let value: String? = read(key, .text, nil, nil, help, isRequired: true) { $0 }
        return value ?? ""
    }

    /// One of a few words.
    package mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String, default fallback: Choice, _ help: String
    ) -> Choice {
        let words = Choice.allCases.map(\.rawValue)
        return read(key, .text, fallback, fallback.rawValue, help, range: words.joined(separator: " | ")) { text in
            guard let choice = Choice(rawValue: text) else {
                throw Complaint("must be \(words.joined(separator: " or "))")
            }
            return choice
        } ?? fallback
    }

    /// A value that is never shown. `<key>File` names a file to read it from instead, its last line feed left out.
    package mutating func secret(_ key: String, default fallback: String? = nil, _ help: String) -> Secret? {
        let readFile = readFile
        let direct = read(key, .secret, fallback.map(Secret.init), fallback.map { _ in "<redacted>" }, help) {
            Secret($0)
        }
        if environment[EnvironmentVariable.name(of: path(key))] == nil, value(at: path(key))?.string != nil {
            secretsWithin.append(path(key).joined(separator: "."))
        }
        var named: String?
        let fromFile: Secret? = read(key + "File", .text, nil, nil, "File to read `\(key)` from.") { path in
            named = path
            do {
                let text = try readFile(path)
                return Secret(text.hasSuffix("\n") ? String(text.dropLast()) : text)
            } catch { throw Complaint("cannot be read: \(error)", contrastsValue: false) }
        }
        note(named, of: key + "File", holdsSecret: true)
        return fromFile ?? direct
    }

    package mutating func integer(
        _ key: String, default fallback: Int, in range: ClosedRange<Int>, _ help: String
    ) -> Int {
        read(key, .integer, fallback, "\(fallback)", help, range: "\(range.lowerBound)…\(range.upperBound)") { text in
            guard let value = Int(text) else { throw Complaint("must be a whole number") }
            guard range.contains(value) else {
                throw Complaint("must be from \(range.lowerBound) to \(range.upperBound)")
            }
            return value
        } ?? fallback
    }

    /// A whole number without a default.
    package mutating func optionalInteger(_ key: String, in range: ClosedRange<Int64>, _ help: String) -> Int64? {
        integer(key, in: range, help, isRequired: false)
    }

    /// A whole number that must be given; nil when it was not, which `finish()` reports.
    package mutating func requiredInteger(_ key: String, in range: ClosedRange<Int64>, _ help: String) -> Int64? {
        integer(key, in: range, help, isRequired: true)
    }

    private mutating func integer(
        _ key: String, in range: ClosedRange<Int64>, _ help: String, isRequired: Bool
    ) -> Int64? {
        let rangeText = "\(range.lowerBound)…\(range.upperBound)"
        return read(key, .integer, nil, nil, help, range: rangeText, isRequired: isRequired) { text in
            guard let value = Int64(text), range.contains(value) else {
                throw Complaint("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return value
        }
    }

    package mutating func boolean(_ key: String, default fallback: Bool, _ help: String) -> Bool {
        read(key, .boolean, fallback, "\(fallback)", help) { text in
            guard let value = Bool(text) else { throw Complaint("must be true or false") }
            return value
        } ?? fallback
    }

    /// A time such as `250ms`, `5s`, `10m`, `24h` or `7d`.
    package mutating func duration(
        _ key: String, default fallback: Duration, in range: ClosedRange<Duration>, _ help: String
    ) -> Duration {
        duration(key, fallback, range, help) ?? fallback
    }

    /// A time without a default.
    package mutating func optionalDuration(_ key: String, in range: ClosedRange<Duration>, _ help: String) -> Duration?
    {
        duration(key, nil, range, help)
    }

    private mutating func duration(
        _ key: String, _ fallback: Duration?, _ range: ClosedRange<Duration>, _ help: String
    ) -> Duration? {
        let bounds = (range.lowerBound.settingText, range.upperBound.settingText)
        return read(key, .duration, fallback, fallback?.settingText, help, range: "\(bounds.0)…\(bounds.1)") { text in
            guard let value = Duration(settingText: text) else {
                throw Complaint("must be a time such as 250ms, 5s, 10m, 24h or 7d")
            }
            guard range.contains(value) else { throw Complaint("must be from \(bounds.0) to \(bounds.1)") }
            return value
        }
    }

    /// A size such as `65536`, `256KiB`, `64MiB` or `4GiB`.
    package mutating func byteCount(
        _ key: String, default fallback: Int, in range: ClosedRange<Int>, _ help: String
    ) -> Int {
        let shown = { (count: Int) in ByteCount.text(count) }
        let rangeText = "\(shown(range.lowerBound))…\(shown(range.upperBound))"
        return read(key, .byteCount, fallback, shown(fallback), help, range: rangeText) { text in
            guard let value = ByteCount.parse(text) else {
                throw Complaint("must be a size such as 65536, 256KiB, 64MiB or 4GiB")
            }
            guard range.contains(value) else {
                throw Complaint("must be from \(shown(range.lowerBound)) to \(shown(range.upperBound))")
            }
            return value
        } ?? fallback
    }

    /// A list of strings; in the environment, separated by commas.
    package mutating func strings(_ key: String, default fallback: [String] = [], _ help: String) -> [String] {
        read(key, .list, fallback, fallback.joined(separator: ","), help) { text in
            text.split(separator: ",").map { String($0.drop { $0 == " " }) }
        } ?? fallback
    }

    // MARK: Names that the operator chooses

    /// The member names of the object at `key`, sorted.
    package mutating func names(in key: String) -> [String] {
        if isDocumenting { return ["*"] }
        guard let value = value(at: path(key)) else { return [] }
        guard let object = value.object else {
            problems.append("\(path(key).joined(separator: ".")): must be an object")
            claimed.insert(path(key))
            return []
        }
        if object.members.isEmpty { claimed.insert(path(key)) }
        return object.keys.sorted()
    }

    /// Reads within the object `name` of `key`: inside, keys are relative to it.
    package mutating func within<Value>(
        _ key: String, _ name: String, _ body: (inout SettingsReader) -> Value
    ) -> Value {
        let (outer, outerDocumented) = (scope, documentedScope)
        scope = path(key) + [name]
        documentedScope = documentedScope + key.split(separator: ".").map(String.init) + ["*"]
        defer { (scope, documentedScope) = (outer, outerDocumented) }
        return body(&self)
    }

    /// Lets a part add a complaint of its own about `key`, such as two settings that contradict each other.
    package mutating func complain(about key: String, _ complaint: String) {
        let path = path(key)
        let variable = EnvironmentVariable.name(of: path)
        let origin = environment[variable] == nil ? path.joined(separator: ".") : variable
        if !isDocumenting { problems.append("\(origin): \(complaint)") }
    }

    /// The same about a secret, under the name by which it was given: `key`, or `<key>File`.
    package mutating func complain(aboutSecret key: String, _ complaint: String) {
        complain(about: isGiven(key + "File") ? key + "File" : key, complaint)
    }

    /// Whether something is given for `key`, usable or not. What is not usable has been complained about, and a part that
    /// misses it need not.
    package func isGiven(_ key: String) -> Bool {
        let path = path(key)
        if environment[EnvironmentVariable.name(of: path)] != nil { return true }
        return value(at: path).map { !$0.isNull } ?? false
    }

    // MARK: The end

    /// Throws all mistakes, unknown names included. Call it once everything has been read.
    package func finish() throws(SettingsError) {
        var problems = problems
        let known = claimedNames
        for path in unclaimed(in: file, at: []) {
            let name = path.joined(separator: ".")
            problems.append(
                known.contains(name)
                    ? "\(name): must be an object"
                    : "\(name): there is no such setting" + suggestion(for: name, among: known))
        }
        for variable in environment.keys.sorted() where !claimedVariables.contains(variable) {
            problems.append(
                "\(variable): there is no such setting" + suggestion(for: variable, among: claimedVariables))
        }
        if !problems.isEmpty { throw SettingsError(problems: problems) }
    }

    // MARK: Pieces

    private enum ValueType: String {
        case text = "string"
        case secret, integer, boolean, duration
        case byteCount = "size"
        case list
    }

    private struct Complaint: Error {
        let text: String
        /// Whether what was given belongs behind it: "must be …, not …".
        let contrastsValue: Bool

        init(_ text: String, contrastsValue: Bool = true) {
            self.text = text
            self.contrastsValue = contrastsValue
        }
    }

    private mutating func read<Value>(
        _ key: String, _ type: ValueType, _ fallback: Value?, _ fallbackText: String?, _ help: String,
        range: String? = nil, isRequired: Bool = false, _ convert: (String) throws -> Value
    ) -> Value? {
        let path = path(key)
        let name = path.joined(separator: ".")
        let variable = EnvironmentVariable.name(of: path)
        claimed.insert(path)
        claimedVariables.insert(variable)
        let (origin, text) = text(of: type, at: path, variable, name)
        let shown = text.map { type == .secret ? "<redacted>" : $0 } ?? fallbackText
        keys.append(
            Key(
                name: (documentedScope + key.split(separator: ".").map(String.init)).joined(separator: "."),
                type: type.rawValue, defaultValue: fallbackText, range: range, help: help, effectiveValue: shown))
        guard let text else {
            if isRequired && !isDocumenting { problems.append("\(name): is needed. \(help)") }
            return fallback
        }
        do { return try convert(text) } catch {
            let complaint = error as? Complaint
            let given = type == .secret || complaint?.contrastsValue == false ? "" : ", not \"\(text)\""
            problems.append("\(origin): \(complaint?.text ?? "\(error)")\(given)")
            return fallback
        }
    }

    /// The text given for a setting, and where: the environment wins over the file.
    private mutating func text(
        of type: ValueType, at path: [String], _ variable: String, _ name: String
    ) -> (origin: String, text: String?) {
        if let text = environment[variable] { return (variable, text) }
        switch value(at: path) {
        case nil, .null: return (name, nil)
        case .string(let text) where type != .list: return (name, text)
        case .number(let number) where type == .integer || type == .byteCount: return (name, number.text)
        case .bool(let value) where type == .boolean: return (name, "\(value)")
        case .array(let elements) where type == .list && elements.allSatisfy { $0.string != nil }:
            return (name, elements.compactMap(\.string).joined(separator: ","))
        default:
            let article = type == .integer ? "an" : "a"
            problems.append("\(name): must be \(article) \(type.rawValue)\(type == .list ? " of strings" : "")")
            return (name, nil)
        }
    }

    private func path(_ key: String) -> [String] { scope + key.split(separator: ".").map(String.init) }

    private func value(at path: [String]) -> JSONValue? {
        path.reduce(JSONValue?.some(file)) { value, name in value?[name] }
    }

    private func unclaimed(in value: JSONValue, at path: [String]) -> [[String]] {
        if claimed.contains(path) { return [] }
        guard let object = value.object else { return path.isEmpty ? [] : [path] }
        if object.members.isEmpty, !claimed.contains(where: { $0.starts(with: path) }) { return [path] }
        return object.members.flatMap { unclaimed(in: $0.value, at: path + [$0.key]) }
    }

    /// All names that exist, those of whole parts included.
    private var claimedNames: Set<String> {
        Set(claimed.flatMap { path in path.indices.map { path[...$0].joined(separator: ".") } })
    }

    private func suggestion(for name: String, among known: Set<String>) -> String {
        NearestName.to(name, among: known).map { "; did you mean \($0)?" } ?? ""
    }
}
