import JSON
import Runtime

/// What an examination came to, for people and for scripts.
struct DoctorReport: Sendable {
    let outcomes: [Examination.Outcome]

    /// 0 all is well (warnings do not count unless they are to), 1 something is wrong, 3 something does not answer.
    func exitCode(countingWarnings: Bool) -> Int32 {
        let verdicts = Set(outcomes.map(\.finding.verdict))
        if verdicts.contains(.unreachable) { return 3 }
        return verdicts.contains(.wrong) || (countingWarnings && verdicts.contains(.warning)) ? 1 : 0
    }

    private func count(_ words: String) -> Int { outcomes.count { $0.finding.verdict.word == words } }

    /// `17 checks: 15 fine, 1 warning, 1 wrong`.
    var summary: String {
        let parts = [
            ("fine", "fine"), ("warning", count("warning") == 1 ? "warning" : "warnings"), ("wrong", "wrong"),
            ("not checked", "not checked"),
        ].filter { count($0.0) > 0 }.map { "\(count($0.0)) \($0.1)" }
        return "\(outcomes.count) checks: \(parts.isEmpty ? "nothing" : parts.joined(separator: ", "))"
    }

    func json(countingWarnings: Bool) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.array("checks", outcomes) { json, outcome in
            json.beginObject()
            json.member("name", outcome.name)
            json.member("status", outcome.finding.verdict.rawValue)
            json.member("detail", outcome.finding.sentence)
            json.array("remedies", outcome.finding.remedies) { json, remedy in json.string(remedy) }
            json.member("milliseconds", Int64(outcome.took / .milliseconds(1)))
            json.endObject()
        }
        json.object("summary") { json in
            for words in ["fine", "warning", "wrong"] { json.member(words, count(words)) }
            json.member("notChecked", count("not checked"))
        }
        json.member("exitCode", Int64(exitCode(countingWarnings: countingWarnings)))
        json.endObject()
        return json.text
    }
}

/// The lines of a report, aligned.
struct DoctorLines: Sendable {
    let names: [String]
    let isColoured: Bool

    private var nameWidth: Int { names.map(\.count).max() ?? 0 }
    private static let wordWidth = Finding.Verdict.notChecked.word.count

    func lines(of outcome: Examination.Outcome) -> String {
        let finding = outcome.finding
        let margin = String(repeating: " ", count: Self.wordWidth + 2 + nameWidth + 2)
        let head =
            coloured(finding.verdict, finding.verdict.word.padded(to: Self.wordWidth)) + "  "
            + outcome.name.padded(to: nameWidth) + "  " + finding.sentence.printable(limit: 1000)
        return ([head] + finding.remedies.map { "\(margin)> \($0.printable(limit: 1000))" }).joined(separator: "\n")
    }

    private func coloured(_ verdict: Finding.Verdict, _ text: String) -> String {
        guard isColoured else { return text }
        let code =
            switch verdict {
            case .fine: "32"
            case .warning: "33"
            case .wrong, .unreachable: "1;31"
            case .notChecked: "2"
            }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}
