import Entitlements
import Testing
import Time

@testable import CacheTier

/// What an answer is made of once Apple has told more than the store has.
@Suite("A customer and Apple's news") struct KnownCustomerTests {
    private let app = TestApp("known")

    private func known(_ records: [LineageRecord], _ customer: String = anna) -> KnownCustomer {
        let cached = CachedCustomer(
            key: app.key(customer), revision: 3, records: records, readAt: .now, epoch: 0, storedBytes: 100)
        return KnownCustomer(entry: MemoryTier.Entry(customer: cached, doubt: nil), source: .memory)
    }

    @Test func newsIsFoldedIntoWhatTheCustomerHas() {
        let (first, second) = (app.period(), app.period("2", from: 30, to: 60))
        let customer = known([folded([first], app.lineage())]).folding([second, first], under: .keep)
        #expect(customer.records == [folded([first, second], app.lineage())])
    }

    @Test("Invariant 6: a lineage that the customer is not known to have is not added")
    func aLineageThatTheCustomerIsNotKnownToHaveIsNotAdded() {
        let (mine, other) = (app.period(), app.period(of: app.lineage("2000")))
        let customer = known([folded([mine], app.lineage())]).folding([other], under: .keep)
        #expect(customer.records.map(\.lineage) == [app.lineage()])
    }

    @Test("Invariant 6: a lineage that Apple gives to somebody else is the customer's no longer")
    func aLineageThatAppleGivesToSomebodyElseIsGone() {
        let record = folded([app.period()], app.lineage())
        let renewed = app.period("2", from: 30, to: 60, token: ben)
        #expect(known([record]).folding([renewed], under: .keep).records.isEmpty)
        // One that the customer claimed over that very token stays.
        let claimed = folded([app.period(token: ben).claimed(by: anna, on: day(1), over: ben)], app.lineage())
        #expect(known([claimed]).folding([renewed], under: .keep).records.count == 1)
    }
}
