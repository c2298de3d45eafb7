import Time

@testable import Entitlements
@testable import Simulator

/// Invariant 9 for one life: without news an answer changes exactly at its `nextChangeAt`, and at no other moment.
struct Stillness {
    let records: [LineageID: LineageRecord]
    let map: ProductMap

    private struct Answer<Value: Equatable>: Equatable {
        /// All of the answer but when it will change.
        let value: Value
        let nextChangeAt: Timestamp?
    }

    func difference(_ random: inout StoreRandom, _ census: inout Census) -> String? {
        let all = records.values.sorted {
            ($0.lineage.environment.rawValue, $0.lineage.originalTransactionID)
                < ($1.lineage.environment.rawValue, $1.lineage.originalTransactionID)
        }
        for record in all.shuffled(using: &random).prefix(2) {
            let found = walk(instants(around: [record], &random), &census) { instant in
                var evaluation = record.evaluated(at: instant, map: map)
                let next = evaluation.nextChangeAt
                (evaluation.nextChangeAt, evaluation.nextState) = (nil, nil)
                return Answer(value: evaluation, nextChangeAt: next)
            }
            if let found { return "\(record.lineage.originalTransactionID): \(found)" }
            if let found = announcement(of: record, &random) { return found }
        }
        // The union of a customer's lineages, which are no more still than all of them.
        let own = all.filter { $0.lineage.environment == .production && $0.customer == LifeCatalog.accounts[0] }
        return walk(instants(around: own.suffix(2), &random), &census) { instant in
            let evaluation = CustomerEvaluation(of: own.suffix(2), at: instant, map: map)
            let lineages = evaluation.lineages.map { lineage in
                var lineage = lineage
                (lineage.nextChangeAt, lineage.nextState) = (nil, nil)
                return lineage
            }
            return Answer(
                value: CustomerEvaluation(of: lineages), nextChangeAt: evaluation.nextChangeAt)
        }
    }

    private func walk<Value: Equatable>(
        _ instants: [Timestamp], _ census: inout Census, _ answer: (Timestamp) -> Answer<Value>
    ) -> String? {
        guard let first = instants.first else { return nil }
        var last = answer(first)
        for instant in instants.dropFirst() {
            while let change = last.nextChangeAt, change <= instant {
                if answer(change - .milliseconds(1)) != last { return "changed before \(change.rfc3339)" }
                let next = answer(change)
                if next.value == last.value { return "nothing changed at \(change.rfc3339)" }
                census.count("delivered: instants on either side of a change")
                last = next
            }
            if answer(instant) != last { return "changed by \(instant.rfc3339), which was not announced" }
        }
        return nil
    }

    /// The state that is announced for the next change is the one that comes.
    private func announcement(of record: LineageRecord, _ random: inout StoreRandom) -> String? {
        for instant in instants(around: [record], &random) where Int.random(in: 0..<8, using: &random) == 0 {
            let evaluation = record.evaluated(at: instant, map: map)
            guard let change = evaluation.nextChangeAt else { continue }
            if evaluation.nextState != record.evaluated(at: change, map: map).state {
                return
                    "\(record.lineage.originalTransactionID): another state comes at \(change.rfc3339) than announced"
            }
        }
        return nil
    }

    /// Every instant that the facts name and its neighbours, the ends of holds, and some at random; not all of a long life.
    private func instants(around records: some Sequence<LineageRecord>, _ random: inout StoreRandom) -> [Timestamp] {
        var named: [Timestamp] = []
        for record in records {
            for fact in record.transactions.suffix(6) {
                named += [fact.purchaseDate, fact.expiresDate, fact.revocationDate].compactMap(\.self)
                if let end = fact.end(by: map) { named += [end, end + .seconds(86_400)] }
            }
            named += [
                record.renewal?.signedDate, record.renewal?.gracePeriodExpiresDate, record.status?.signedDate,
            ].compactMap(\.self)
        }
        guard let first = named.min(), let last = named.max() else { return [] }
        var all = Set(named.flatMap { [$0 - .milliseconds(1), $0, $0 + .milliseconds(1)] })
        for _ in 0..<10 {
            let span = max(1, last.milliseconds - first.milliseconds)
            all.insert(Timestamp(milliseconds: first.milliseconds + Int64.random(in: 0...span, using: &random)))
        }
        return all.sorted()
    }
}
