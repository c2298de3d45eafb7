import JSON
import TestSupport
import Testing
import Time

@testable import Holdfast

@Suite("How long changes take to show")
struct LagLedgerTests {
    private static let end = Bench.at(100)

    private func truth(
        _ state: KnownState.State, _ id: String = "1", until: Timestamp? = nil, paidUntil: Timestamp? = nil,
        isSubscription: Bool = true
    ) -> TrueLineage {
        TrueLineage(
            account: "a", id: id, isSubscription: isSubscription, state: state, product: "premium",
            nextProduct: state == .active ? "premium" : nil, expiresAt: until ?? Self.end,
            accessUntil: paidUntil ?? until ?? Self.end)
    }

    /// An answer that shows exactly this.
    private func answer(_ truth: [TrueLineage], at instant: Timestamp) throws -> LineageSights {
        var subscriptions: [String] = []
        for lineage in truth where lineage.isSubscription {
            let sight = lineage.sight(at: instant)
            let end = sight.subscription?.expiresAt ?? lineage.expiresAt
            let next = sight.subscription?.isPaidAhead == true ? "active" : "hold"
            subscriptions.append(
                """
                {"originalTransactionId":"\(lineage.id)","productId":"premium","access":\(sight.access),
                 "state":"\(lineage.state.rawValue)","expiresAt":"\(end?.rfc3339 ?? "")",
                 "nextChangeAt":"\(end?.rfc3339 ?? "")","nextState":"\(next)",
                 "nextProductId":\(sight.subscription?.nextProduct.map { "\"\($0)\"" } ?? "null")}
                """)
        }
        let grantors = truth.filter { $0.sight(at: instant).access }.map { "\"\($0.id)\"" }.joined(separator: ",")
        return LineageSights(
            try JSONValue.parse(
                Array(
                    """
                    {"entitlements":[{"id":"premium","active":true,"grantedBy":[\(grantors)]}],
                     "subscriptions":[\(subscriptions.joined(separator: ","))]}
                    """.utf8)))
    }

    @Test func aLagLastsFromTheChangeToTheFirstAnswerThatShowsIt() throws {
        var ledger = LagLedger()
        ledger.happens("bought", to: "a", at: Bench.at(1), [truth(.active)], .sent)
        ledger.shows(try answer([], at: Bench.at(2)), of: "a", at: Bench.at(2))
        #expect(ledger.samples.isEmpty)
        #expect(ledger.waiting("a") == Bench.at(1))
        ledger.shows(try answer([truth(.active)], at: Bench.at(4)), of: "a", at: Bench.at(4))
        #expect(ledger.samples.map(\.lag) == [.seconds(3)])
        #expect(ledger.waiting("a") == nil)
    }

    @Test func aLaterChangeShowsTheEarlierOnesToo() throws {
        var ledger = LagLedger()
        ledger.happens("bought", to: "a", at: Bench.at(1), [truth(.active)], .lost)
        ledger.happens("cancelled", to: "a", at: Bench.at(3), [truth(.canceled)], .sent)
        ledger.happens("refunded", to: "a", at: Bench.at(5), [truth(.revoked)], .sent)
        ledger.shows(try answer([truth(.canceled)], at: Bench.at(6)), of: "a", at: Bench.at(6))
        #expect(ledger.samples.map(\.lag) == [.seconds(5), .seconds(3)])
        #expect(ledger.samples.map(\.fate) == [.lost, .sent])
        #expect(ledger.unseen(before: Bench.at(9)).count == 1)
        #expect(ledger.unseen(before: Bench.at(5)).isEmpty)
    }

    @Test func whatIsUndoneBeforeItShowsIsLeftOut() throws {
        var ledger = LagLedger()
        ledger.happens("bought", to: "a", at: Bench.at(1), [truth(.active)], .sent)
        ledger.shows(try answer([truth(.active)], at: Bench.at(2)), of: "a", at: Bench.at(2))
        ledger.happens("cancelled", to: "a", at: Bench.at(3), [truth(.canceled)], .lost)
        ledger.happens("resumed", to: "a", at: Bench.at(4), [truth(.active)], .sent)
        #expect(ledger.waiting("a") == nil)
        #expect(ledger.samples.count == 1)
    }

    @Test func whatNoAnswerCouldShowIsLeftOut() {
        var ledger = LagLedger()
        ledger.happens("bought", to: "a", at: Bench.at(1), [truth(.active)], .sent)
        ledger.happens("asked for a refund", to: "a", at: Bench.at(2), [truth(.active)], .sent)
        #expect(ledger.unseen(before: Bench.at(9)).count == 1)
    }

    @Test func eachLineageOfAnAccountShowsByItself() throws {
        var ledger = LagLedger()
        ledger.happens("bought", to: "a", at: Bench.at(1), [truth(.active)], .lost)
        let both = [truth(.active), truth(.active, "2")]
        ledger.happens("bought another", to: "a", at: Bench.at(3), both, .sent)
        ledger.shows(try answer([both[1]], at: Bench.at(4)), of: "a", at: Bench.at(4))
        #expect(ledger.samples.map(\.fate) == [.sent])
        #expect(ledger.waiting("a") == Bench.at(1))
        ledger.shows(try answer(both, at: Bench.at(6)), of: "a", at: Bench.at(6))
        #expect(ledger.samples.map(\.lag) == [.seconds(1), .seconds(5)])
    }

    @Test func aPeriodChargedEarlyShowsAtOnceAndCountsFromItsBegin() throws {
        let renewed = truth(.active, until: Self.end, paidUntil: Bench.at(200))
        #expect(renewed.sight(at: Bench.at(50)).subscription?.isPaidAhead == true)
        #expect(renewed.sight(at: Bench.at(50)).subscription?.expiresAt == Self.end)
        #expect(renewed.sight(at: Bench.at(150)).subscription?.isPaidAhead == false)
        #expect(renewed.sight(at: Bench.at(150)).subscription?.expiresAt == Bench.at(200))
        #expect(!renewed.sight(at: Bench.at(200)).access)
        var ledger = LagLedger()
        ledger.happens("bought", to: "a", at: Bench.at(1), [truth(.active)], .sent)
        ledger.happens("renewed", to: "a", at: Bench.at(90), [renewed], .lost)
        ledger.shows(try answer([truth(.active)], at: Bench.at(91)), of: "a", at: Bench.at(91))
        ledger.shows(try answer([renewed], at: Bench.at(110)), of: "a", at: Bench.at(110))
        #expect(ledger.samples.map(\.lag) == [.seconds(90), .seconds(20)])
    }

    @Test func ofAOneTimePurchaseTheAnswerShowsWhetherItGrants() throws {
        let bought = truth(.active, "7", isSubscription: false)
        let refunded = truth(.revoked, "7", isSubscription: false)
        let sights = try answer([bought], at: Bench.at(1))
        #expect(sights.differences(from: [bought], at: Bench.at(1)).isEmpty)
        #expect(sights.differences(from: [refunded], at: Bench.at(1)) == [refunded])
    }

    @Test func eachFieldThatDiffersIsFound() throws {
        let sights = try answer([truth(.active)], at: Bench.at(1))
        for other in [
            truth(.canceled), truth(.gracePeriod), truth(.active, "2"), truth(.active, until: Bench.at(99)),
            truth(.active, paidUntil: Bench.at(200)),
        ] {
            #expect(sights.differences(from: [other], at: Bench.at(1)) == [other])
        }
    }

    @Test func figuresAreThoseOfTheSamples() {
        let samples = (1...200).map {
            LagLedger.Sample(account: "a", at: Bench.epoch, fate: .sent, lag: .seconds($0))
        }
        let figures = LagFigures(samples.shuffled())
        #expect(figures?.count == 200)
        #expect(figures?.median == .seconds(100))
        #expect(figures?.percentile99 == .seconds(199))
        #expect(figures?.worst == .seconds(200))
        check(LagFigures([]) == nil)
    }

    @Test func anEventCountsAsRepeatedUnderItsIdAndAsTwiceToldWhenItSaysTwiceThatSomethingChanged() {
        var ledger = EventLedger()
        ledger.add("1", kind: "refund.granted", changed: true)
        ledger.add("1", kind: "refund.granted", changed: false)
        ledger.add("2", kind: "refund.granted", changed: false)
        ledger.add(nil, kind: "entitlement.changed", changed: nil)
        #expect(ledger.events == 4)
        #expect(ledger.ids == 2)
        #expect(ledger.repeated == 1)
        #expect(ledger.changesRepeated == [])
        ledger.add("2", kind: "refund.granted", changed: true)
        ledger.add("2", kind: "refund.granted", changed: true)
        #expect(ledger.changesRepeated == ["2"])
    }
}
