/// One thing that `holdfast doctor` looks at. Looking changes nothing, whatever state the system is in.
protocol Check: Sendable {
    /// Names the line, and is what `--skip` goes by.
    var name: String { get }
    /// Whether it asks somebody over the network, this machine's own listeners included.
    var isRemote: Bool { get }
    /// How many times `--timeout` it may take.
    var patience: Int { get }

    func examine() async -> Finding
}

extension Check {
    var isRemote: Bool { true }
    var patience: Int { 1 }
}

/// What a check found: a sentence, and if something is wrong what to do about it.
struct Finding: Sendable, Hashable {
    enum Verdict: String, Sendable {
        case fine
        /// It works, and will not for ever, or is less safe than it should be.
        case warning
        case wrong
        /// Wrong, because something that Holdfast needs does not answer.
        case unreachable
        case notChecked

        /// The word at the beginning of the line.
        var word: String {
            switch self {
            case .fine, .warning, .wrong: rawValue
            case .unreachable: "wrong"
            case .notChecked: "not checked"
            }
        }
    }

    let verdict: Verdict
    let sentence: String
    /// What to do, a line each.
    let remedies: [String]

    static func fine(_ sentence: String) -> Finding { Finding(verdict: .fine, sentence: sentence, remedies: []) }

    static func warning(_ sentence: String, _ remedies: String...) -> Finding {
        Finding(verdict: .warning, sentence: sentence, remedies: remedies)
    }

    static func wrong(_ sentence: String, _ remedies: String...) -> Finding {
        Finding(verdict: .wrong, sentence: sentence, remedies: remedies)
    }

    static func unreachable(_ sentence: String, _ remedies: String...) -> Finding {
        Finding(verdict: .unreachable, sentence: sentence, remedies: remedies)
    }

    static func notChecked(_ reason: String, _ remedies: String...) -> Finding {
        Finding(verdict: .notChecked, sentence: reason, remedies: remedies)
    }

    /// The same, of one of several.
    func at(_ place: String) -> Finding {
        Finding(verdict: verdict, sentence: "\(place): \(sentence)", remedies: remedies)
    }

    /// The worst of several findings about one thing, with the sentences of all that are not fine; `sentence` if all are.
    static func of(_ findings: [Finding], otherwise sentence: String) -> Finding {
        let bad = findings.filter { $0.verdict != .fine }
        let order: [Verdict] = [.unreachable, .wrong, .warning, .notChecked]
        guard let worst = order.first(where: { verdict in bad.contains { $0.verdict == verdict } }) else {
            return .fine(sentence)
        }
        // What mends several of them is said once.
        let remedies = bad.flatMap(\.remedies).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        return Finding(verdict: worst, sentence: bad.map(\.sentence).joined(separator: "; "), remedies: remedies)
    }
}
