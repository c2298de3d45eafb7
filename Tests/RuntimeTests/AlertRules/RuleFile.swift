import Runtime
import TestSupport

/// The rules of `ops/prometheus/holdfast.rules.yml`, as far as this test wants to know them.
struct RuleFile {
    struct Rule {
        var name = ""
        var isAlert = false
        var expression = ""
        var severity = ""
        var summary = ""
        var action = ""
    }

    /// A metric in an expression, with what is asked of its labels.
    struct Selector {
        let metric: String
        let matchers: [(label: String, value: String)]
    }

    private(set) var rules: [Rule] = []

    init() throws {
        self.init(text: try File.text(at: "\(Command.packageFolder)/ops/prometheus/holdfast.rules.yml"))
    }

    init(text: String) {
        /// Within an expression of several lines.
        var isFolded = false
        for line in text.split(separator: "\n") {
            let content = line.drop { $0 == " " || $0 == "-" }
            if let name = Self.value("alert", content) {
                rules.append(Rule(name: name, isAlert: true))
            } else if let name = Self.value("record", content) {
                rules.append(Rule(name: name))
            } else if !rules.isEmpty {
                let last = rules.count - 1
                if let value = Self.value("expr", content) {
                    isFolded = value == "|"
                    rules[last].expression = isFolded ? "" : value
                } else if let value = Self.value("summary", content) {
                    rules[last].summary = value
                } else if let value = Self.value("action", content) {
                    rules[last].action = value
                } else if content.hasPrefix("labels: { severity: ") {
                    rules[last].severity = String(content.dropFirst(20).prefix { $0.isLetter })
                    isFolded = false
                } else if Self.value("for", content) != nil {
                    isFolded = false
                } else if isFolded {
                    rules[last].expression += " " + content
                }
            }
        }
    }

    private static func value(_ key: String, _ line: Substring) -> String? {
        line.hasPrefix("\(key): ") ? String(line.dropFirst(key.utf8.count + 2)) : nil
    }
}

extension RuleFile.Rule {
    /// The metrics, in the order in which they stand there.
    var selectors: [RuleFile.Selector] {
        var found: [RuleFile.Selector] = []
        var rest = expression[...]
        while let start = rest.firstIndex(where: Self.isOfName) {
            let name = rest[start...].prefix(while: Self.isOfName)
            rest = rest[name.endIndex...]
            guard name.hasPrefix("holdfast") || name == "up" else {
                // What stands in quotes is no name.
                continue
            }
            var matchers: [(String, String)] = []
            if rest.first == "{" {
                let braces = SourceMetrics.bracketed(rest)
                matchers = braces.dropFirst().dropLast().split(separator: ",").map { matcher in
                    let label = matcher.drop { $0 == " " }.prefix(while: Self.isOfName)
                    let value = matcher.split(separator: "\"", omittingEmptySubsequences: false).dropFirst().first
                    return (String(label), String(value ?? ""))
                }
                rest = rest[braces.endIndex...]
            }
            found.append(RuleFile.Selector(metric: String(name), matchers: matchers))
        }
        return found
    }

    /// The labels by which is aggregated and joined.
    var grouping: Set<String> {
        var labels: Set<String> = []
        for word in ["by (", "on ("] {
            for range in expression.ranges(of: word) {
                let list = expression[range.upperBound...].prefix { $0 != ")" }
                labels.formUnion(list.split { $0 == "," || $0 == " " }.map(String.init))
            }
        }
        return labels
    }

    /// The labels that `{{ $labels.… }}` names in what people read.
    var shown: Set<String> {
        var labels: Set<String> = []
        for text in [summary, action] {
            for range in text.ranges(of: "$labels.") {
                labels.insert(String(text[range.upperBound...].prefix(while: Self.isOfName)))
            }
        }
        return labels
    }

    private static func isOfName(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_" || character == ":"
    }
}
