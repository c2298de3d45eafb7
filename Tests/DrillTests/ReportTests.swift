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

    /// The record of a drill of losses: a change shows after a second without loss, and after ten with it.
    private func losses(_ change: (inout LossRecord) -> Void = { _ in }) throws -> DrillRecord {
        var record = DrillRecord(scenario: "losses", isExact: true, began: Bench.epoch)
        for (number, stage) in Scenario.Stage.allCases.enumerated() {
            record.enter(stage, at: Bench.at(Double(number) * 10))
        }
        record.losses.lags = [
            LagLedger.Sample(account: "a", at: Bench.at(5), fate: .sent, lag: .seconds(1)),
            LagLedger.Sample(account: "a", at: Bench.at(15), fate: .lost, lag: .seconds(10)),
        ]
        record.losses.lineages = 3
        record.losses.calls = CallFigures(
            try JSONValue.parse(
                Array(
                    """
                    {"endpoints":{"statuses":{"answered":7,"limited":0,"refused":1,"failed":2}},"askedAgain":1,
                     "limits":[{"perSecond":50,"busiestSecond":60,"busiestTenSeconds":500}]}
                    """.utf8)))
        record.losses.events.add("1", kind: "refund.granted", changed: true)
        record.losses.events.add("1", kind: "refund.granted", changed: false)
        change(&record.losses)
        return record
    }

    private func broken(_ record: DrillRecord) -> [String] { record.lossClaims.filter { !$0.holds }.map(\.claim) }

    @Test func theDrillOfLossesHasClaimsOfItsOwn() throws {
        #expect(try broken(losses()) == [])
        let differing = try losses { $0.differences = ["gateway-1, lineage 1"] }
        #expect(broken(differing) == ["every lineage as in the store in the end"])
        #expect(DrillTable.verdict(differing).contains("gateway-1, lineage 1"))
        let unseen = try losses { $0.unseen = ["a refund"] }
        #expect(broken(unseen) == ["every change showed"])
        let missed = try losses { $0.sweepsMissed = 1 }
        #expect(broken(missed) == ["consumers killed while they asked Apple"])
        let told = try losses { $0.events.add("1", kind: "refund.granted", changed: true) }
        #expect(broken(told) == ["no change told twice"])
        let claims = try losses().claims.count
        #expect(claims == record().claims.count + 5)
    }

    @Test func moreCallsThanAppleAllowsAreFound() throws {
        let json = #"{"endpoints":{},"limits":[{"perSecond":50,"busiestSecond":51,"busiestTenSeconds":501}]}"#
        let calls = CallFigures(try JSONValue.parse(Array(json.utf8)))
        #expect(!calls.areLimitsKept)
    }

    @Test func lagsAreShownByStageAndFate() throws {
        let record = try losses()
        let rows = record.lagRows.map { "\($0.name) \($0.figures.count) \($0.figures.worst)" }
        #expect(rows == ["without loss 1 1.0 seconds", "with loss 1 10.0 seconds", "  lost, listed 1 10.0 seconds"])
        #expect(DrillTable.losses(record).contains("10 statuses (1 refused, 2 failed)"))
        var disturbed = record
        disturbed.spans = [DrillRecord.Span(name: "news", from: 10, to: 20), .init(name: "apple", from: 24, to: 26)]
        let names = disturbed.lagRows.map(\.name)
        #expect(names == ["without loss", "with loss", "  Apple dark or a consumer killed meanwhile"])
        let json = try JSONValue.parse(record.json)
        #expect(json["losses"]?["lags"]?.array?.count == 3)
        #expect(json["losses"]?["events"]?["repeated"]?.int64 == 1)
        #expect(json["losses"]?["fates"]?["lost"]?.int64 == 1)
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
