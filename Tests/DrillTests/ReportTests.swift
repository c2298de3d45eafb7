import CacheTier
import JSON
import Testing
import Time

@testable import Holdfast

@Suite("What a drill reports")
struct ReportTests {
    /// A record of one read a second through all stages; the readings of second `wrong` failed.
    private func record(wrong: Int? = nil, recovered: Bool = true) -> DrillRecord {
        var record = DrillRecord(scenario: "redis-outage", began: Bench.epoch)
        for (number, stage) in Scenario.Stage.allCases.enumerated() {
            record.enter(stage, at: Bench.at(Double(number) * 10))
        }
        for second in 0..<40 {
            let service = Reading.Service(level: second < 20 ? .s : .a, reason: "current", source: "memory")
            let answer = Reading.Answer(serverTime: Bench.at(Double(second)), entitlements: [], service: service)
            let reading = Reading(
                customer: "<somebody>", gateway: 1, sentAt: Bench.at(Double(second)),
                latency: .milliseconds(second + 1),
                outcome: second == wrong ? .failed("no") : .answer(answer))
            record.add(
                reading,
                second == wrong ? Verdict(readClass: .failed, detail: "no & none") : Verdict(readClass: .right))
        }
        record.spans = [DrillRecord.Span(name: "redis", from: 10, to: 20)]
        record.end = 40
        if recovered { record.recovery = .milliseconds(2340) }
        return record
    }

    @Test func aDrillWithoutAWrongReadIsFine() {
        #expect(record().isFine)
        #expect(record().total.reads == 40)
    }

    @Test func oneFailedReadIsEnough() {
        let record = record(wrong: 15)
        #expect(!record.isFine)
        let broken = record.claims.filter { !$0.holds }.map(\.claim)
        #expect(broken == ["no failed read"])
        #expect(DrillTable.verdict(record).contains("no & none"))
    }

    @Test func whatIsNotRecoveredIsNotFine() {
        #expect(!record(recovered: false).isFine)
        var record = record()
        record.unfinished = ["gateway-1: 3 in the spool"]
        #expect(!record.isFine)
        #expect(DrillTable.verdict(record).contains("3 in the spool"))
    }

    @Test func aStageWithoutReadsProvesNothing() {
        #expect(!DrillRecord(scenario: "everything", began: Bench.epoch).isFine)
    }

    @Test func quantilesAreThoseOfTheReadsOfTheStage() {
        let before = record().stages[.before]
        #expect(before?.reads == 10)
        #expect(before?.latency(0.5) == 6)
        #expect(before?.latency(0.99) == 10)
        #expect(Tally().latency(0.5) == nil)
    }

    @Test func theTableHasAColumnForEachStage() {
        let lines = DrillTable.table(record()).split(separator: "\n")
        #expect(lines[0].split(separator: " ").map(String.init) == Scenario.Stage.allCases.map(\.rawValue))
        #expect(lines[1].split(separator: " ").map(String.init) == ["reads", "10", "10", "10", "10"])
    }

    @Test func theJSONSaysTheSame() throws {
        let value = try JSONValue.parse(record(wrong: 15).json)
        #expect(value["fine"]?.bool == false)
        #expect(value["stages"]?["during"]?["classes"]?["failed"]?.int64 == 1)
        #expect(value["timeline"]?.array?.count == 40)
        #expect(value["recoverySeconds"]?.double == 2.34)
    }

    @Test func thePlotIsWellFormedAndShowsOutagesAndWrongReads() {
        let svg = DrillPlot(record(wrong: 15)).svg
        #expect(svg.hasPrefix("<svg "))
        #expect(svg.hasSuffix("</svg>\n"))
        #expect(svg.contains(#"<rect class="wrong""#))
        #expect(svg.contains(">redis</text>"))
        #expect(!svg.contains("nan"))
        #expect(!svg.contains("inf"))
    }

    @Test(arguments: [
        (0.0, 1, "0.0"), (1.25, 1, "1.3"), (-0.04, 1, "0.0"), (-2.5, 0, "-3"), (12_345.678, 2, "12345.68"),
    ])
    func numbersAreWrittenWithSoManyDigits(value: Double, digits: Int, text: String) {
        #expect(DrillTable.fixed(value, digits) == text)
    }
}
