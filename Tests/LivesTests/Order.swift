import Entitlements

@testable import Simulator

/// Invariant 3 for one life: whatever arrived gives the same bytes in any other order, with other duplicates, and joined
/// from parts that were folded apart.
struct Order {
    let courier: Courier

    func difference(_ random: inout StoreRandom, _ census: inout Census) -> String? {
        for (lineage, delivered) in courier.delivered.sorted(by: {
            ($0.key.originalTransactionID, $0.key.environment.rawValue)
                < ($1.key.originalTransactionID, $1.key.environment.rawValue)
        }) {
            guard let record = courier.records[lineage] else { return "\(lineage.originalTransactionID) has no record" }
            let bytes = record.encoded()
            if (try? LineageRecord(decoding: bytes, lineage: lineage))?.encoded() != bytes {
                return "\(lineage.originalTransactionID) is not read as it was written"
            }
            census.count("delivered: permutations")
            var again = delivered
            for observation in delivered where Int.random(in: 0..<4, using: &random) == 0 { again.append(observation) }
            again.shuffle(using: &random)
            let cut = Int.random(in: 0...again.count, using: &random)
            var joined = fold(again[cut...], lineage)
            let first = fold(again[..<cut], lineage)
            let whole = again[cut...].reduce(into: first) { _ = $0.fold($1) }
            _ = joined.merge(first)
            guard whole.encoded() == bytes, joined.encoded() == bytes else {
                return "\(lineage.originalTransactionID) depends on the order of its news"
            }
            if let found = lastWord(record, delivered, &census) { return "\(lineage.originalTransactionID): \(found)" }
        }
        return nil
    }

    /// The same for what has arrived so far: before Apple is asked, and answers with later dates.
    func lastWords(_ census: inout Census) -> String? {
        for (lineage, delivered) in courier.delivered {
            guard let record = courier.records[lineage], let found = lastWord(record, delivered, &census) else {
                continue
            }
            return "\(lineage.originalTransactionID): \(found)"
        }
        return nil
    }

    private func fold(_ news: ArraySlice<Observation>, _ lineage: LineageID) -> LineageRecord {
        var record = LineageRecord(lineage: lineage)
        for observation in news { _ = record.fold(observation) }
        return record
    }

    /// Of each transaction the version that was signed last is kept, and of several signed together a revoked one.
    private func lastWord(_ record: LineageRecord, _ delivered: [Observation], _ census: inout Census) -> String? {
        for (id, versions) in Dictionary(grouping: delivered.compactMap(\.transaction), by: \.transactionID) {
            guard let kept = record.transactions.first(where: { $0.transactionID == id }) else { continue }
            guard let last = versions.map(\.signedDate).max(), kept.signedDate == last else {
                return "not the last version of \(id) is kept"
            }
            let together = Set(versions.filter { $0.signedDate == last })
            if together.count > 1 {
                census.count("delivered: equal dates")
                if Set(together.map { $0.revocationDate == nil }).count == 2 {
                    census.count("delivered: equal dates, one a refund")
                }
            }
            if versions.contains(where: { $0.signedDate == last && $0.revocationDate != nil }),
                kept.revocationDate == nil
            {
                return "of \(id) a version without its revocation is kept"
            }
        }
        let renewals = delivered.compactMap(\.renewal?.signedDate)
        if record.renewal?.signedDate != renewals.max() { return "not the last renewal is kept" }
        let statuses = delivered.compactMap(\.status?.signedDate)
        if record.status?.signedDate != statuses.max() { return "not the last status is kept" }
        return nil
    }
}
