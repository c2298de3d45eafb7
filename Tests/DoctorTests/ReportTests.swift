import TestSupport
import Testing

@testable import Holdfast

/// How findings are shown and counted, and how checks are run.
@Suite struct ReportTests {
    private struct Fixed: Check {
        let name: String
        let finding: Finding
        func examine() async -> Finding { finding }
    }

    /// Hangs as a blocking call does: nothing ends it.
    private struct Hanging: Check {
        let name = "hanging"
        func examine() async -> Finding {
            await withCheckedContinuation { (_: CheckedContinuation<Finding, Never>) in }
        }
    }

    private func outcome(_ finding: Finding, _ name: String = "spool") -> Examination.Outcome {
        Examination.Outcome(name: name, finding: finding, took: .milliseconds(3))
    }

    @Test func aLineSaysTheVerdictTheNameAndBelowWhatToDo() {
        let lines = DoctorLines(names: ["spool", "redis memory"], isColoured: false)
        #expect(lines.lines(of: outcome(.fine("it is"))) == "fine         spool         it is")
        let full = lines.lines(of: outcome(.wrong("full", "make room", "or less"), "redis memory"))
        let margin = String(repeating: " ", count: 27)
        #expect(full == "wrong        redis memory  full\n\(margin)> make room\n\(margin)> or less")
        #expect(lines.lines(of: outcome(.unreachable("gone"))) == "wrong        spool         gone")
        #expect(lines.lines(of: outcome(.notChecked("no"))) == "not checked  spool         no")
        let hostile = lines.lines(of: outcome(.fine("a\u{1B}[31mb\nc")))
        #expect(hostile == "fine         spool         a\u{FFFD}[31mb\u{FFFD}c")
    }

    @Test func theExitCodeSaysTheWorst() {
        func code(_ findings: Finding..., strict: Bool = false) -> Int32 {
            DoctorReport(outcomes: findings.map { outcome($0) }).exitCode(countingWarnings: strict)
        }
        #expect(code(.fine("")) == 0)
        #expect(code(.fine(""), .warning(""), .notChecked("")) == 0)
        #expect(code(.warning(""), strict: true) == 1)
        #expect(code(.wrong(""), .fine("")) == 1)
        #expect(code(.wrong(""), .unreachable("")) == 3)
    }

    @Test func theSummaryCounts() {
        let report = DoctorReport(outcomes: [
            outcome(.fine("")), outcome(.warning("")), outcome(.warning("")), outcome(.unreachable("")),
        ])
        #expect(report.summary == "4 checks: 1 fine, 2 warnings, 1 wrong")
    }

    @Test func aCheckThatHangsIsGivenUpAndTheOthersAreTold() async {
        let checks: [any Check] = [
            Fixed(name: "a", finding: .fine("1")), Hanging(), Fixed(name: "b", finding: .fine("2")),
        ]
        var told: [String] = []
        let outcomes = await Examination(checks: checks, timeout: .milliseconds(100)) { _ in nil }.run { news, _ in
            told += news.map(\.name)
        }
        #expect(told == ["a", "hanging", "b"])
        #expect(outcomes[1].finding.verdict == .wrong)
        #expect(outcomes[1].finding.sentence == "no answer within 0.1 s")
    }

    @Test func anExcusedCheckIsNotMade() async {
        let outcomes = await Examination(checks: [Hanging()], timeout: .seconds(60)) { _ in "--skip" }.run()
        #expect(outcomes.first?.finding == .notChecked("--skip"))
    }

    @Test func severalFindingsBecomeOneOfTheWorstKind() {
        let finding = Finding.of([.fine("a"), .warning("b", "do b"), .wrong("c", "do c")], otherwise: "all well")
        #expect(finding == Finding(verdict: .wrong, sentence: "b; c", remedies: ["do b", "do c"]))
        #expect(Finding.of([.fine("a")], otherwise: "all well") == .fine("all well"))
    }

    @Test func theSameRemedyIsGivenOnce() {
        let finding = Finding.of([.wrong("a", "do it"), .wrong("b", "do it")], otherwise: "")
        #expect(finding.remedies == ["do it"])
    }

    @Test(arguments: [
        (Duration.microseconds(42), "0.04 ms"), (.microseconds(420), "0.42 ms"), (.microseconds(4200), "4.2 ms"),
        (.milliseconds(42), "42 ms"), (.milliseconds(4200), "4.2 s"), (.seconds(42), "42 s"),
    ])
    func timesAreForPeople(_ duration: Duration, _ text: String) { #expect(duration.short == text) }

    @Test func versionsAreComparedAsNumbers() {
        #expect(Version("3.10.8") > Version("3.9.29"))
        #expect(Version("4.0.0-rc.1") > Version("3.13"))
        #expect(Version("3.10") <= Version("3.10.0"))
    }
}
