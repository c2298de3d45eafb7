import Testing
import Time

@testable import Entitlements

/// Random histories; every failure names the seed that shows it again.
@Suite("Invariants") struct InvariantTests {
    @Test("Invariant 3: any order and any duplicates give byte-identical records", arguments: seeds(12))
    func anyOrderAndAnyDuplicatesGiveIdenticalRecords(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let observations = generator.observations(Int.random(in: 1...90, using: &generator))
        let expected = fold(observations)
        for _ in 0..<4 {
            let repeated = observations + observations.filter { _ in Bool.random(using: &generator) }
            let shuffled = repeated.shuffled(using: &generator)
            #expect(fold(shuffled).encoded() == expected.encoded(), "seed \(seed)")

            // Joined from parts that were folded apart, as happens when a lineage moves between holders.
            let cut = Int.random(in: 0...shuffled.count, using: &generator)
            let (a, b) = (fold(Array(shuffled[..<cut])), fold(Array(shuffled[cut...])))
            #expect(a.merging(b).encoded() == expected.encoded(), "seed \(seed)")
            #expect(b.merging(a).encoded() == expected.encoded(), "seed \(seed)")
        }
        #expect(try LineageRecord(decoding: expected.encoded(), lineage: lineage) == expected, "seed \(seed)")
    }

    @Test("Invariant 3: fold reports a change exactly when the bytes change", arguments: seeds(16))
    func foldReportsAChangeExactlyWhenTheBytesChange(seed: UInt64) {
        var generator = Generator(seed: seed)
        var record = LineageRecord(lineage: lineage)
        for observation in generator.observations(90) {
            let before = record.encoded()
            let changed = record.fold(observation)
            #expect(changed == (record.encoded() != before), "seed \(seed)")
        }
    }

    @Test("Invariant 4: the answer for an instant depends on nothing but its arguments", arguments: seeds(16))
    func theAnswerDependsOnNothingButItsArguments(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let observations = generator.observations(20)
        let record = fold(observations)
        let again = try LineageRecord(
            decoding: fold(observations.shuffled(using: &generator)).encoded(), lineage: lineage)
        for instant in generator.instants(of: observations) {
            #expect(record.at(instant) == again.at(instant), "seed \(seed)")
        }
    }

    @Test("Invariant 9: the answer changes exactly at nextChangeAt and not before", arguments: seeds(12))
    func theAnswerChangesExactlyAtNextChangeAt(seed: UInt64) {
        var generator = Generator(seed: seed)
        let observations = generator.observations(Int.random(in: 1...12, using: &generator))
        let record = fold(observations)
        let instants = generator.instants(of: observations)
        for instant in instants {
            let now = record.at(instant)
            for later in instants where later > instant {
                if let change = now.nextChangeAt, later >= change { break }
                #expect(record.at(later) == now, "seed \(seed): changed before nextChangeAt")
            }
            guard let change = now.nextChangeAt else { continue }
            #expect(change > instant, "seed \(seed)")
            let before = record.at(Timestamp(milliseconds: change.milliseconds - 1))
            #expect(before == now, "seed \(seed)")
            var then = record.at(change)
            then.nextChangeAt = now.nextChangeAt
            #expect(then != now, "seed \(seed): nothing changed at nextChangeAt")
        }
    }

    private func fold(_ observations: [Observation]) -> LineageRecord {
        var record = LineageRecord(lineage: lineage)
        for observation in observations { record.fold(observation) }
        return record
    }
}

/// Fixed seeds that found something once could be added here; the others are new in every run.
private func seeds(_ count: Int) -> [UInt64] { (0..<count).map { _ in .random(in: .min ... .max) } }

/// SplitMix64: small, and the same everywhere.
struct Generator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    private mutating func pick<Value>(_ values: Value...) -> Value {
        values[Int.random(in: 0..<values.count, using: &self)]
    }

    private mutating func someDay() -> Timestamp { day(Int.random(in: 0..<100, using: &self)) }

    /// Few ids, few days and few hashes, so that equal keys, equal dates and equal hashes are frequent.
    mutating func observations(_ count: Int) -> [Observation] { (0..<count).map { _ in observation() } }

    private mutating func observation() -> Observation {
        let transaction = chance(85) ? transaction() : nil
        let renewal = chance(60) ? renewalFact() : nil
        let status =
            chance(50) ? StatusFact(status: Int64.random(in: 0...6, using: &self), signedDate: someDay()) : nil
        return Observation(
            lineage: lineage, source: .notification, signedDate: day(0), transaction: transaction, renewal: renewal,
            status: status, claim: chance(30) ? claim() : nil)
    }

    /// More customers than a record keeps claims of.
    private mutating func claim() -> ClaimFact {
        ClaimFact(
            customer: pick("a", "b", "e\u{301}", "\u{e9}", "\(Int.random(in: 0..<24, using: &self))"),
            claimedAt: someDay(), transactionID: pick("1", "2"), over: pick(nil, "a", "b"),
            takesOver: pick(true, false))
    }

    private mutating func transaction() -> TransactionFact {
        let number = Int.random(in: 0..<100, using: &self)
        // Mostly as Apple does it, one purchase date for each id; now and then a second one.
        let from = chance(95) ? day(number) : someDay()
        var fact = period(
            "\(number)", pick("basic.month", "basic.year", "pro.month", "unheard.of", "season"), from: from,
            to: chance(90) ? from + .seconds(Int64.random(in: 1...40, using: &self) * 86_400) : nil,
            signed: chance(30) ? from : someDay(),
            type: pick(
                "Auto-Renewable Subscription", "Auto-Renewable Subscription", "Auto-Renewable Subscription",
                "Non-Renewing Subscription", "Consumable", nil),
            token: pick(nil, "a", "b", "e\u{301}", "\u{e9}"), upgraded: chance(10),
            revoked: chance(15) ? someDay() : nil)
        fact.payloadHash = pick("0", "1", "e\u{301}", "\u{e9}")
        return fact
    }

    private mutating func renewalFact() -> RenewalFact {
        var fact = renewal(
            signed: someDay(), on: chance(70), next: pick(nil, "basic.month", "pro.month"),
            retrying: pick(nil, true, false), grace: chance(30) ? someDay() : nil, intent: pick(nil, nil, 1, 2))
        fact.payloadHash = pick("0", "1", "2")
        return fact
    }

    /// Every instant that the facts name, its neighbours, and the ends of holds: ascending.
    func instants(of observations: [Observation]) -> [Timestamp] {
        var named: Set<Timestamp> = [day(-1), day(200)]
        for observation in observations {
            let dates = [
                observation.transaction?.purchaseDate, observation.transaction?.expiresDate,
                observation.transaction?.revocationDate, observation.renewal?.signedDate,
                observation.renewal?.gracePeriodExpiresDate, observation.status?.signedDate,
            ]
            for date in dates.compactMap(\.self) {
                for offset in [-1, 0, 1, 86_400_000] as [Int64] {
                    named.insert(Timestamp(milliseconds: date.milliseconds + offset))
                }
            }
        }
        return named.sorted()
    }
}
