import Testing
import Time

@testable import Entitlements

@Suite("Customer") struct CustomerTests {
    private func lineage(_ id: String, _ environment: StoreEnvironment = .production, _ facts: TransactionFact...)
        -> LineageRecord
    {
        let lineage = LineageID(app: AppID("demo"), environment: environment, originalTransactionID: id)
        var record = LineageRecord(lineage: lineage)
        for fact in facts {
            record.fold(Observation(lineage: lineage, source: .status, signedDate: day(0), transaction: fact))
        }
        return record
    }

    @Test func anEntitlementLastsAsLongAsItsLastGrantor() {
        let customer = CustomerEvaluation(
            of: [
                lineage("b", .production, period("1", from: day(0), to: day(30))),
                lineage("a", .production, period("2", "pro.month", from: day(0), to: day(20))),
                lineage("c", .production, period("3", from: day(-90), to: day(-60))),
            ], at: day(1), map: map)
        #expect(customer.entitlements.map(\.id) == ["basic", "pro"])
        #expect(customer.entitlements.map(\.validUntil) == [day(30), day(20)])
        #expect(customer.entitlements.map(\.grantedBy) == [["a", "b"], ["a"]])
        #expect(customer.entitlements.map(\.active) == [true, true])
        #expect(customer.subscriptions.map(\.lineage.originalTransactionID) == ["a", "b", "c"])
        #expect(customer.nextChangeAt == day(20))
    }

    @Test func anEntitlementOnceHadIsListedAsInactive() throws {
        let customer = CustomerEvaluation(
            of: [lineage("a", .production, period("1", from: day(0), to: day(30)))], at: day(60), map: map)
        let basic = try #require(customer.entitlements.first)
        #expect(!basic.active)
        #expect(basic.state == .expired)
        #expect(basic.validUntil == day(31))
    }

    @Test func whatAnEarlierProductGaveIsListedAsInactive() throws {
        let customer = CustomerEvaluation(
            of: [
                lineage(
                    "a", .production, period("1", "pro.month", from: day(0), to: day(30)),
                    period("2", from: day(30), to: day(60)))
            ], at: day(40), map: map)
        #expect(customer.entitlements.map(\.active) == [true, false])
        let pro = try #require(customer.entitlements.last)
        #expect(pro.id == "pro")
        #expect(pro.validUntil == day(30))
    }

    @Test(arguments: [(nil, 10), (5, 5), (20, 10)])
    func whatAnEarlierProductGaveEndedWithItWasTakenBackOrGaveWay(refunded: Int?, end: Int) {
        let earlier = period(
            "1", "pro.month", from: day(0), to: day(30), signed: day(25), revoked: refunded.map { day($0) })
        let customer = CustomerEvaluation(
            of: [lineage("a", .production, earlier, period("2", from: day(10), to: day(40)))], at: day(26), map: map)
        #expect(customer.entitlements.last?.validUntil == day(end))
    }

    @Test func anEndlessGrantIsTheLatest() {
        let customer = CustomerEvaluation(
            of: [
                lineage("a", .production, period("1", "pro.month", from: day(0), to: day(30))),
                lineage("b", .production, period("2", "forever", from: day(0), to: nil, type: "Non-Consumable")),
            ], at: day(1), map: map)
        #expect(customer.entitlements.last?.validUntil == nil)
        #expect(customer.entitlements.last?.willRenew == true)
        #expect(customer.subscriptions.count == 1)
        #expect(customer.lineages.count == 2)
    }

    @Test("Invariant 7: sandbox does not count in production") func sandboxDoesNotCountInProduction() {
        let customer = CustomerEvaluation(
            of: [
                lineage("a", .production, period("1", from: day(0), to: day(30))),
                lineage("b", .sandbox, period("2", "pro.month", from: day(0), to: day(30))),
            ], at: day(1), map: map)
        #expect(customer.entitlements.map(\.id) == ["basic"])
    }

    @Test func purchasesOfAnotherAppDoNotCount() {
        let other = LineageID(app: AppID("other"), environment: .production, originalTransactionID: "b")
        var foreign = LineageRecord(lineage: other)
        foreign.fold(
            Observation(
                lineage: other, source: .status, signedDate: day(0),
                transaction: period("2", "pro.month", from: day(0), to: day(30))))
        let customer = CustomerEvaluation(
            of: [lineage("a", .production, period("1", from: day(0), to: day(30))), foreign], at: day(1), map: map)
        #expect(customer.entitlements.map(\.id) == ["basic"])
    }

    @Test func aProductTheMapDoesNotKnowIsNamed() {
        let customer = CustomerEvaluation(
            of: [lineage("a", .production, period("1", "unheard.of", from: day(0), to: day(30)))], at: day(1), map: map)
        #expect(customer.unmappedProducts == ["unheard.of"])
        #expect(customer.entitlements.isEmpty)
    }

    @Test func aCustomerWithoutLineagesHasNothing() {
        let customer = CustomerEvaluation(of: [LineageRecord](), at: day(1), map: map)
        #expect(customer.entitlements.isEmpty)
        #expect(customer.nextChangeAt == nil)
    }
}
