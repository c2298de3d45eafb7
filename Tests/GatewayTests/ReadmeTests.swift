import CacheTier
import Entitlements
import Runtime
import TestSupport
import Testing

/// What README.md says of answers is what the source says.
@Suite struct ReadmeTests {
    private let lines: [Substring]

    init() throws { lines = try File.text(at: "\(Command.packageFolder)/README.md").split(separator: "\n") }

    /// The rows of the table under a heading cell, as name and meaning.
    private func table(_ heading: String) -> [(name: String, meaning: String)] {
        let rows = lines.drop { !$0.hasPrefix("| \(heading) |") }.dropFirst(2).prefix { $0.hasPrefix("| ") }
        return rows.map { row in
            let cells = row.split(separator: "|").map { $0.trimmingSpaces }
            return (String(cells[0].filter { $0 != "`" }), cells.count > 1 ? String(cells[1]) : "")
        }
    }

    @Test func everyReasonForAStateIsInTheReadmeWithItsSentence() {
        let rows = table("`reason`")
        #expect(rows.map(\.name) == StateReason.allCases.map(\.rawValue))
        #expect(rows.map(\.meaning) == StateReason.allCases.map(\.sentence))
    }

    @Test func everyReasonForALevelIsInTheReadme() {
        let rows = table("`service.reason`")
        #expect(Set(rows.map(\.name)) == Set(ServiceReason.allCases.map(\.rawValue)))
        check(rows.allSatisfy { !$0.meaning.isEmpty })
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        let start = drop { $0 == " " }
        return start[..<(start.lastIndex { $0 != " " }.map { start.index(after: $0) } ?? start.startIndex)]
    }
}
