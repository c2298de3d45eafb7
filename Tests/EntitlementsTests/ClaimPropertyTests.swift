import TestSupport
import Testing
import Time

@testable import Entitlements

/// Claims and tokens in random order, against a model that goes through the story as it happened.
@Suite("Claims at random") struct ClaimPropertyTests {
    private static let customers = ["ann", "bob", "eve", "e\u{301}", "\u{e9}"]
    private static let seeds: [UInt64] = (0..<16).map { _ in .random(in: .min ... .max) }

    /// One thing that happened to a lineage.
    private enum Event: Sendable {
        case token(String, Timestamp)
        case claim(ClaimFact)

        var observation: Observation {
            switch self {
            case .token(let customer, let date):
                Observation(
                    lineage: lineage, source: .notification, signedDate: date,
                    transaction: period("1", from: day(0), to: day(30), signed: date, token: customer))
            case .claim(let claim):
                Observation(lineage: lineage, source: .device, signedDate: claim.claimedAt, claim: claim)
            }
        }
    }

    /// What everybody knows who was there, in the order in which it happened.
    private struct Model {
        var token: String?
        var lastClaim: (by: String, over: String?)?
        var claimants: [String] = []
        /// When it went from one customer to another by a claim.
        var moves: [Timestamp] = []

        /// The token counts until somebody claims; then the claim does, until another token is signed than was there.
        func holders(_ policy: TransferPolicy) -> Set<[UInt8]> {
            let named = token.map { Array($0.utf8) }
            let claimed = claimants.map { Array($0.utf8) }
            if policy == .share { return Set(claimed + [named].compactMap(\.self)) }
            guard let lastClaim else { return Set([named].compactMap(\.self)) }
            let over = lastClaim.over.map { Array($0.utf8) }
            return named == nil || named == over || !isTokenNewer
                ? [Array(lastClaim.by.utf8)] : Set([named].compactMap(\.self))
        }
        var isTokenNewer = false

        /// The law of each policy, in its own words.
        func mayTake(
            _ customer: String, at instant: Timestamp, access: Bool, _ rules: TransferRules
        ) -> Bool {
            let present = holders(rules.policy)
            if present.isEmpty { return true }
            let isCrowded = Set(claimants.map { Array($0.utf8) }).count >= 16
            let lately = moves.filter { instant - $0 < rules.window }.count
            return switch rules.policy {
            case .keep: false
            case .share: !isCrowded
            case .transfer: lately < rules.limit
            case .transferIfInactive: !access && lately < rules.limit
            }
        }
    }

    @Test(
        "Invariants 3 and 6: decisions and holders are those of the story, in whichever order it is heard",
        arguments: seeds, TransferPolicy.allCases)
    func decisionsAreThoseOfTheStory(seed: UInt64, policy: TransferPolicy) {
        var random = Generator(seed: seed)
        var record = LineageRecord(lineage: lineage)
        var model = Model()
        var events: [Event] = []
        let rules = TransferRules(policy: policy, limit: 2, window: .seconds(20 * 86_400))
        for number in 1...30 {
            let now = day(number * Int.random(in: 1...2, using: &random), hour: number % 24)
            let customer = Self.customers[Int.random(in: 0..<Self.customers.count, using: &random)]
            guard events.last.map({ $0.observation.signedDate < now }) ?? true else { continue }
            if Int.random(in: 0..<4, using: &random) == 0 {
                events.append(.token(customer, now))
                model.token = customer
                model.isTokenNewer = true
            } else {
                let access = Bool.random(using: &random)
                let isForced = Int.random(in: 0..<6, using: &random) == 0
                let holders = model.holders(policy)
                let decision = ClaimDecision(
                    of: customer, transactionID: "1", at: now, record: record, access: access, rules: rules,
                    transfers: model.moves.shuffled(using: &random), isForced: isForced)
                let mayTake = isForced || model.mayTake(customer, at: now, access: access, rules)
                switch decision {
                case .alreadyTheirs: check(holders.contains(Array(customer.utf8)), "seed \(seed), \(number)")
                case .refused:
                    check(!mayTake && !holders.contains(Array(customer.utf8)), "seed \(seed), \(number)")
                case .accepted(let claim, let from):
                    check(mayTake && !holders.contains(Array(customer.utf8)), "seed \(seed), \(number)")
                    check(
                        Set(from.map { Array($0.utf8) }) == (policy == .share ? [] : holders), "seed \(seed), \(number)"
                    )
                    check(claim.over.map { Array($0.utf8) } == model.token.map { Array($0.utf8) })
                    events.append(.claim(claim))
                    model.lastClaim = (customer, model.token)
                    model.isTokenNewer = false
                    model.claimants.append(customer)
                    if !from.isEmpty { model.moves.append(now) }
                }
            }
            if let event = events.last { record.fold(event.observation) }
            let found = record.customers(under: policy).map { Array($0.utf8) }
            check(Set(found) == model.holders(policy), "seed \(seed), \(number)")
            check(found.count == Set(found).count, "seed \(seed): one customer twice")
            check(policy == .share || found.count <= 1, "seed \(seed): two customers")
        }
        for _ in 0..<3 {
            var again = LineageRecord(lineage: lineage)
            for event in (events + events.prefix(5)).shuffled(using: &random) { again.fold(event.observation) }
            check(again.encoded() == record.encoded(), "seed \(seed)")
        }
    }

    /// A story goes on for a while in a store that has forgotten all of it, and then both are put together.
    @Test(
        "Invariant 6: what was decided while the store had lost its data takes a lineage from nobody", arguments: seeds)
    func forgettingTakesALineageFromNobody(seed: UInt64) {
        var random = Generator(seed: seed)
        for policy in [TransferPolicy.keep, .transferIfInactive] {
            var records = [LineageRecord(lineage: lineage), LineageRecord(lineage: lineage)]
            for number in 0..<20 {
                let store = number < 10 ? 0 : 1
                let customer = Self.customers[Int.random(in: 0..<Self.customers.count, using: &random)]
                let decision = ClaimDecision(
                    of: customer, transactionID: "1", at: day(number), record: records[store], access: true,
                    rules: TransferRules(policy: policy), transfers: [],
                    // Before the loss somebody may have been forced in; what an operator insists on afterwards counts.
                    isForced: number < 10 && Bool.random(using: &random))
                if case .accepted(let claim, _) = decision { records[store].fold(Event.claim(claim).observation) }
            }
            let before = records[0].customers(under: policy).map { Array($0.utf8) }
            records[1].merge(records[0])
            check(records[1].customers(under: policy).map { Array($0.utf8) } == before, "seed \(seed), \(policy)")
        }
    }

    @Test("Invariant 6: a lineage has one customer at most, but under share", arguments: seeds)
    func aLineageHasOneCustomerAtMost(seed: UInt64) {
        var random = Generator(seed: seed)
        var record = LineageRecord(lineage: lineage)
        for _ in 0..<60 {
            // What no decision would have let in, too: two gateways may have decided at once.
            let customer = Self.customers[Int.random(in: 0..<Self.customers.count, using: &random)]
            let date = day(Int.random(in: 0..<10, using: &random))
            let over = Bool.random(using: &random) ? Self.customers[Int.random(in: 0..<2, using: &random)] : nil
            let event =
                Bool.random(using: &random)
                ? Event.token(customer, date)
                : .claim(ClaimFact(customer: customer, claimedAt: date, transactionID: "1", over: over))
            record.fold(event.observation)
            for policy in [TransferPolicy.keep, .transfer, .transferIfInactive] {
                check(record.customers(under: policy).count == 1, "seed \(seed), \(policy)")
            }
        }
    }
}
