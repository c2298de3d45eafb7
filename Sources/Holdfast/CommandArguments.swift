import Runtime
import Time

/// The arguments of one subcommand: operands, options with a value (`--root FILE` or `--root=FILE`) and flags.
struct CommandArguments {
    private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]
    private var flags: Set<String> = []

    /// Names are given without their dashes. `--` ends the options; a lone `-` is an operand (standard input).
    init(_ arguments: [String], options: Set<String> = [], flags known: Set<String> = []) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                operands += rest
                return
            }
            guard argument.hasPrefix("-"), argument != "-" else {
                operands.append(argument)
                continue
            }
            let parts = argument.drop { $0 == "-" }.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            if options.contains(name) {
                guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                    throw UsageError("--\(name) needs a value")
                }
                values[name, default: []].append(value)
            } else if known.contains(name) {
                guard parts.count == 1 else { throw UsageError("--\(name) takes no value") }
                flags.insert(name)
            } else {
                let nearest = NearestName.to(name, among: options.union(known))
                throw UsageError("there is no option --\(name)" + (nearest.map { "; did you mean --\($0)?" } ?? ""))
            }
        }
    }

    func has(_ flag: String) -> Bool { flags.contains(flag) }

    /// The value of an option that makes sense once; the last one given counts.
    func value(_ option: String) -> String? { values[option]?.last }

    func values(_ option: String) -> [String] { values[option] ?? [] }

    /// The value as an instant: a time, or how long ago.
    func time(_ option: String, now: Timestamp) throws(UsageError) -> Timestamp? {
        guard let text = value(option) else { return nil }
        if let instant = Timestamp(rfc3339: text) { return instant }
        if let ago = Duration(settingText: text), ago < .seconds(36_600 * 86_400) { return now - ago }
        throw UsageError("--\(option) takes a time such as 2026-11-30T12:00:00Z, or how long ago, such as 6h or 3d")
    }

    /// The value as a whole number within `range`.
    func integer<Number: FixedWidthInteger>(
        _ option: String, in range: ClosedRange<Number>
    ) throws(UsageError) -> Number? {
        guard let text = value(option) else { return nil }
        guard let number = Number(text), range.contains(number) else {
            throw UsageError("--\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

/// A command line that cannot be understood; the sentence says what to do about it.
struct UsageError: Error {
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
}
