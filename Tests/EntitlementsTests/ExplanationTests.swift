import JSON
import TestSupport
import Testing
import Time

@testable import Entitlements

@Suite("Explanations") struct ExplanationTests {
    private func explain(_ entitlement: String?, _ records: LineageRecord..., at instant: Timestamp) -> Explanation {
        Explanation(of: records, entitlement: entitlement, at: instant, map: map)
    }

    private func finding(_ rule: String, _ explanation: Explanation) -> String? {
        explanation.lineages.first?.findings.first { $0.about == rule }?.finding
    }

    @Test func aPayerHasItUntilTheEndAndForWhichReason() {
        let explanation = explain(
            "basic", record(period("1", from: day(0), to: day(30)), renewal: renewal(signed: day(0))), at: day(3))
        #expect(explanation.hasAccess)
        #expect(
            explanation.sentence
                == "Has basic until \(day(30).rfc3339): subscription 1000 (basic.month) is active. "
                + "The current period is paid and will renew.")
        #expect(finding("automatic renewal", explanation) == "on")
        #expect(finding("product map", explanation) == "version 1: basic.month gives basic")
        #expect(finding("next change", explanation)?.hasPrefix("\(day(30).rfc3339), to hold") == true)
    }

    @Test func whoLostItIsToldSinceWhenAndWhy() {
        let record = record(
            period("1", from: day(0), to: day(30)), renewal: renewal(signed: day(31), on: false, intent: 1), status: 2)
        let explanation = explain("basic", record, at: day(40))
        #expect(!explanation.hasAccess)
        #expect(
            explanation.sentence
                == "Does not have basic since \(day(30).rfc3339): subscription 1000 (basic.month) is expired. "
                + "Apple says the subscription has expired.")
        #expect(finding("Apple's word since the end", explanation) == "expired")
        // The same customer ten days before.
        #expect(explain("basic", record, at: day(10)).hasAccess)
    }

    @Test func aRefundIsNamedWithItsDate() {
        let record = record(period("1", from: day(0), to: day(30), revoked: day(5), revocationType: "REFUND_FULL"))
        let explanation = explain("basic", record, at: day(6))
        #expect(explanation.sentence.hasPrefix("Does not have basic since \(day(5).rfc3339): "))
        #expect(finding("revocation", explanation) == "taken back at \(day(5).rfc3339), REFUND_FULL")
        #expect(
            finding("revocation", explain("basic", record, at: day(4)))
                == "will be taken back at \(day(5).rfc3339), REFUND_FULL")
    }

    @Test func aDowngradeIsNotCalledAnExpiry() {
        let record = record(
            period("1", "pro.month", from: day(0), to: day(30)), period("2", "basic.month", from: day(30), to: day(60)))
        #expect(
            explain("pro", record, at: day(31)).sentence
                == "Does not have pro since \(day(30).rfc3339): subscription 1000 (basic.month) is basic.month now, "
                + "which does not give it.")
    }

    @Test func anUnmappedProductIsNamed() {
        let explanation = explain("pro", record(period("1", "new.week", from: day(0), to: day(7))), at: day(1))
        #expect(explanation.sentence.contains("does not know new.week, which this customer bought"))
        #expect(explanation.sentence.contains("pro comes from forever, pro.month"))
        #expect(finding("product map", explanation)?.contains("is not in it") == true)
    }

    @Test func anEntitlementThatNoProductGivesIsNamed() {
        let sentence = explain("por", record(period("1", from: day(0), to: day(30))), at: day(1)).sentence
        #expect(sentence.contains("has no product that gives it. What it gives: basic, pro."))
    }

    @Test func aCustomerNobodyKnowsIsNotCalledExpired() {
        #expect(explain("pro", at: day(1)).sentence.hasPrefix("Does not have pro: no signed purchase is known"))
        #expect(explain(nil, at: day(1)).sentence.hasPrefix("Has nothing: no signed purchase is known"))
    }

    @Test func ofSeveralGrantorsTheOneWithTheLatestEndIsSpokenOf() {
        var second = LineageRecord(
            lineage: LineageID(app: AppID("demo"), environment: .production, originalTransactionID: "2000"))
        var longer = period("9", "basic.year", from: day(0), to: day(300))
        longer.originalTransactionID = "2000"
        var news = observation(transaction: longer)
        news.lineage = second.lineage
        second.fold(news)
        let explanation = explain("basic", record(period("1", from: day(0), to: day(30))), second, at: day(1))
        #expect(explanation.sentence.hasPrefix("Has basic until \(day(300).rfc3339): subscription 2000 (basic.year)"))
        #expect(explanation.sentence.hasSuffix(" 1 more of the customer's purchases give it too."))
        #expect(explanation.lineages.map(\.evaluation.lineage.originalTransactionID) == ["1000", "2000"])
    }

    @Test func holdNamesItsBound() {
        let explanation = explain(
            "basic", record(period("1", from: day(0), to: day(30)), renewal: renewal(signed: day(0))),
            at: day(30, hour: 2))
        #expect(explanation.hasAccess)
        #expect(finding("hold", explanation)?.contains(day(31).rfc3339) == true)
        #expect(finding("Apple's word since the end", explanation) == "none")
        #expect(finding("to be verified", explanation) != nil)
    }

    @Test func factsStandInTheOrderOfTheirSigningAndTheDecisiveOnesAreMarked() {
        let explanation = explain(
            "basic",
            record(
                period("2", from: day(30), to: day(60), token: "anna"), period("1", from: day(0), to: day(30)),
                renewal: renewal(signed: day(31)), status: 1), at: day(32))
        let facts = explanation.lineages[0].facts
        #expect(facts.map(\.signedDate) == [day(0), day(30), day(30), day(31), day(31)])
        #expect(facts.map(\.kind) == [.transaction, .owner, .transaction, .renewal, .status])
        #expect(facts.map(\.isDecisive) == [false, true, true, true, true])
        #expect(facts[3].text == "automatic renewal on")
        #expect(facts[4].text == "status 1, active")
        #expect(explanation.lineages[0].customer == "anna")
    }

    @Test("Invariant 4: explanation and answer never differ", arguments: LineageState.allCases)
    func explanationAndAnswerNeverDiffer(state: LineageState) throws {
        let (record, instant) = try example(of: state)
        let evaluation = record.at(instant)
        #expect(evaluation.state == state)
        let explanation = explain("basic", record, at: instant)
        #expect(explanation.hasAccess == evaluation.access)
        #expect(explanation.sentence.hasPrefix(evaluation.access ? "Has basic" : "Does not have basic"))
        #expect(explanation.sentence.contains(state.phrase))
        #expect(finding("state", explanation) == "\(state.rawValue): \(evaluation.reason.sentence)")
    }

    private func example(of state: LineageState) throws -> (LineageRecord, Timestamp) {
        let paid = period("1", from: day(0), to: day(30))
        let failing = renewal(signed: day(30), retrying: true, grace: day(36))
        return switch state {
        case .active: (record(paid), day(1))
        case .canceled: (record(paid, renewal: renewal(signed: day(1), on: false)), day(2))
        case .gracePeriod: (record(paid, renewal: failing, status: 4), day(31))
        case .billingRetry: (record(paid, renewal: failing, status: 4), day(37))
        case .expired: (record(paid, renewal: renewal(signed: day(1), on: false)), day(31))
        case .revoked: (record(period("1", from: day(0), to: day(30), revoked: day(2))), day(3))
        case .hold: (record(paid), day(30, hour: 1))
        }
    }

    @Test func theJSONHasEveryField() throws {
        let explanation = explain("basic", record(period("1", from: day(0), to: day(30))), at: day(1))
        var json = JSONWriter()
        json.beginObject()
        explanation.write(to: &json)
        json.endObject()
        let value = try JSONValue.parse(json.bytes)
        #expect(value["access"]?.bool == true)
        #expect(value["entitlement"]?.string == "basic")
        #expect(value["explanation"]?.string == explanation.sentence)
        #expect(value["productMapVersion"]?.string == "1")
        let lineage = value["lineages"]?.array?.first
        #expect(lineage?["state"]?.string == "active")
        #expect(lineage?["findings"]?.array?.count == explanation.lineages[0].findings.count)
        #expect(lineage?["facts"]?.array?.first?["decisive"]?.bool == true)
    }
}
