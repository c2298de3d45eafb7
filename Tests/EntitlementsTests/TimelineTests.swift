import JSON
import TestSupport
import Testing
import Time

@testable import Entitlements

@Suite("Timelines") struct TimelineTests {
    private let paid = record(period("1", from: day(0), to: day(30)))

    private var bought: HistoryEntry {
        var news = observation(transaction: period("1", from: day(0), to: day(30)))
        (news.notificationType, news.subtype) = ("SUBSCRIBED", "INITIAL_BUY")
        return HistoryEntry(kind: .transition, at: day(0), cause: .purchase, to: .active, news: news)
    }

    @Test func whatTimeMadeSinceTheLastEntryIsFilledIn() {
        let timeline = paid.timeline([bought], until: day(40), map: map)
        #expect(timeline.map(\.to) == [.active, .hold, .expired])
        #expect(timeline.map(\.at) == [day(0), day(30), day(31)])
    }

    @Test func thePastEndsWhereItIsAskedFor() {
        let canceled = HistoryEntry(
            kind: .transition, at: day(5), cause: .preference, from: .active, to: .canceled)
        #expect(paid.timeline([bought, canceled], until: day(3), map: map) == [bought])
        #expect(paid.timeline([bought], until: day(-1), map: map).isEmpty)
        #expect(paid.timeline([], until: day(40), map: map).isEmpty)
    }

    @Test func anEntryIsASentence() {
        #expect(bought.sentence == "nothing to active, bought (SUBSCRIBED INITIAL_BUY)")
        var odd = HistoryEntry(
            kind: .transition, at: day(0), cause: .other, from: .revoked, to: .active, isUnexpected: true)
        #expect(odd.sentence.contains("revoked to active, other news; not in the table"))
        odd.detail = "seen by a later version"
        #expect(odd.sentence.contains("other news: seen by a later version"))
        let transfer = HistoryEntry(
            kind: .transfer, at: day(0), cause: .other, detail: "claim", toCustomer: "anna")
        #expect(transfer.sentence == "from nobody to anna, other news: claim")
        let forced = HistoryEntry(
            kind: .transfer, at: day(0), cause: .answer, detail: "forced", fromCustomer: "anna", toCustomer: "ben")
        #expect(forced.sentence == "from anna to ben, Apple's API or a device answered: an operator's claim")
    }

    @Test(arguments: HistoryDetail.allCases) func everyDetailHasWords(detail: HistoryDetail) {
        let entry = HistoryEntry(
            kind: .change, at: day(0), cause: .other, to: .active, detail: detail.rawValue)
        #expect(entry.sentence == "still active, other news: \(detail.sentence)")
    }

    @Test func theJSONSaysWhoSaidSoAndWhetherItWasExpected() throws {
        var json = JSONWriter()
        bought.write(to: &json)
        let value = try JSONValue.parse(json.bytes)
        #expect(value["from"]?.string == nil)
        #expect(value["to"]?.string == "active")
        #expect(value["unexpected"]?.bool == false)
        #expect(value["notificationType"]?.string == "SUBSCRIBED")
        #expect(value["at"]?.string == day(0).rfc3339)
    }
}
