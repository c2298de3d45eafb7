import Runtime
import TestSupport
import Testing
import Time

@testable import Entitlements

/// Every rule is found by its name: in what an evaluation or the taking in of news says, in the source and in the docs.
@Suite("Rules by name") struct RuleNameTests {
    /// A situation of each rule, and the rules that are then at work.
    private func rulesAtWork(_ rule: Rule) -> [Rule] {
        let month = period("1", from: day(0), to: day(30))
        let next = period("2", from: day(30), to: day(60))
        return switch rule {
        case .olderRefund: deciding(record(refunded(month, day(40)), next), day(41))
        case .refundReversed:
            takingIn(period("1", from: day(0), to: day(30), signed: day(7)), record(refunded(month, day(5))))
        case .proratedRefund: deciding(record(refunded(month, day(5), "REFUND_PRORATED")), day(6))
        case .seats: deciding(record(month, period("2", from: day(5), to: day(30))), day(6))
        case .upgraded: deciding(record(period("1", from: day(0), to: day(30), signed: day(5), upgraded: true)), day(6))
        case .newestPeriod: deciding(record(month, next), day(31))
        case .productChange: deciding(record(month, renewal: renewal(signed: day(1), next: "pro.month")), day(2))
        case .gracePeriod: deciding(record(month, renewal: failing(day(36)), status: 4), day(31))
        case .billingRetry: deciding(record(month, renewal: failing(nil), status: 3), day(31))
        case .renewalOff: deciding(record(month, renewal: renewal(signed: day(1), on: false)), day(30))
        case .hold: deciding(record(month), day(30))
        case .familyShare: deciding(record(period("1", from: day(0), to: day(30), ownership: "FAMILY_SHARED")), day(1))
        case .oneTimePurchase:
            deciding(record(period("1", "forever", from: day(0), to: nil, type: "Non-Consumable")), day(1))
        case .olderTransaction: takingIn(month, record(next))
        case .notice: record(month).rulesAtWork(takingIn: observation())
        case .consumptionRequest: takingIn(month, record(month), type: "CONSUMPTION_REQUEST")
        }
    }

    private func deciding(_ record: LineageRecord, _ instant: Timestamp) -> [Rule] {
        Explanation(of: [record], at: instant, map: map).lineages.first?.rules ?? []
    }

    private func takingIn(_ fact: TransactionFact, _ record: LineageRecord, type: String? = nil) -> [Rule] {
        var news = observation(transaction: fact)
        news.notificationType = type
        return record.rulesAtWork(takingIn: news)
    }

    private func refunded(_ fact: TransactionFact, _ date: Timestamp, _ type: String = "REFUND_FULL") -> TransactionFact
    {
        var fact = fact
        (fact.revocationDate, fact.revocationType, fact.signedDate) = (date, type, date)
        return fact
    }

    private func failing(_ grace: Timestamp?) -> RenewalFact {
        renewal(signed: day(30), retrying: true, grace: grace)
    }

    @Test(arguments: Rule.allCases) func aRuleIsNamedWhereItIsAtWork(rule: Rule) {
        #expect(rulesAtWork(rule).contains(rule))
    }

    @Test(arguments: Rule.allCases) func aRuleIsNotNamedWhereItIsNotAtWork(rule: Rule) {
        let plain = record(period("1", from: day(0), to: day(30)))
        #expect(deciding(plain, day(1)).contains(rule) == (rule == .newestPeriod))
        let same = period("1", from: day(0), to: day(30), signed: day(1))
        #expect(takingIn(same, plain).isEmpty)
    }

    @Test func theVerdictNamesTheRuleThatDecided() {
        let month = period("1", from: day(0), to: day(30))
        #expect(record(month).at(day(1)).rule == .newestPeriod)
        #expect(record(month).at(day(30)).rule == .hold)
        #expect(record(month).at(day(40)).rule == .hold)
        #expect(record(month, renewal: renewal(signed: day(1), on: false)).at(day(31)).rule == .renewalOff)
        #expect(record(month, renewal: failing(day(36))).at(day(31)).rule == .gracePeriod)
        #expect(record(month, renewal: failing(day(36))).at(day(37)).rule == .gracePeriod)
        #expect(record(month, renewal: failing(nil)).at(day(31)).rule == .billingRetry)
        #expect(record(refunded(month, day(5))).at(day(6)).rule == .newestPeriod)
        #expect(record(refunded(month, day(5), "REFUND_PRORATED")).at(day(6)).rule == .proratedRefund)
        #expect(record(refunded(month, day(5), "FAMILY_REVOKE")).at(day(6)).rule == .familyShare)
        #expect(record(month, status: 5, said: day(5)).at(day(6)).rule == .newestPeriod)
        let seats = record(refunded(month, day(5)), refunded(period("2", from: day(1), to: day(30)), day(6)))
        #expect(seats.at(day(7)).rule == .seats)
        // Apple's word settles what was held.
        #expect(record(month, renewal: renewal(signed: day(30), intent: 3)).at(day(31)).rule == .hold)
        #expect(record(month, renewal: renewal(signed: day(30), on: false, intent: 1)).at(day(31)).rule == .renewalOff)
    }

    /// The table says of each rule in which file it is found, and the file says its name.
    @Test(arguments: Rule.allCases) func theArchitectureSaysWhereARuleIs(rule: Rule) throws {
        let page = try text("ARCHITECTURE.md")
        let line = page.split(separator: "\n").first { $0.hasPrefix("|") && $0.contains("| `\(rule.rawValue)` |") }
        let row = try #require(line)
        #expect(row.hasPrefix("| \(rule.situation) |"))
        let files = row.split(separator: "|").last?.split(separator: "`").filter { $0.hasSuffix(".swift") } ?? []
        #expect(!files.isEmpty)
        for file in files {
            #expect(try text("Sources/Entitlements/\(file)").contains(".\(rule.rawValue)"), "\(file)")
        }
    }
}

/// A file of this repository.
private func text(_ path: String) throws -> String { try File.text(at: "\(Command.packageFolder)/\(path)") }
