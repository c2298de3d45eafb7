import Entitlements
import Time

@testable import Simulator

/// Holds the records of one environment against its store's books, under one edition of the product map.
struct Comparison {
    let world: World
    let records: [LineageID: LineageRecord]
    let edition: Int

    private var map: ProductMap { LifeCatalog.maps[edition] }

    func difference(at instant: Timestamp, _ random: inout StoreRandom, _ census: inout Census) -> String? {
        let oracle = Oracle(store: world.store, edition: edition)
        for id in oracle.lineages {
            let lineage = LineageID(
                app: LifeCatalog.app, environment: world.environment, originalTransactionID: id)
            guard let record = records[lineage] else { return "\(id) is unknown" }
            let found =
                now(record, oracle, at: instant, &census) ?? later(record, oracle, after: instant, &random, &census)
                ?? before(record, oracle, before: instant, &random, &census)
            if let found { return "\(id): \(found)" }
        }
        for account in LifeCatalog.accounts {
            if let found = customer(account, oracle, at: instant, &census) { return "\(account): \(found)" }
        }
        return nil
    }

    private func compare(_ record: LineageRecord, _ oracle: Oracle, at instant: Timestamp) -> String? {
        guard let right = oracle.right(of: record.lineage.originalTransactionID, at: instant) else { return nil }
        let found = Right(record.evaluated(at: instant, map: map))
        return found == right ? nil : "at \(instant.rfc3339)\n  is        \(found)\n  should be \(right)"
    }

    private func now(
        _ record: LineageRecord, _ oracle: Oracle, at instant: Timestamp, _ census: inout Census
    ) -> String? {
        let right = oracle.right(of: record.lineage.originalTransactionID, at: instant)
        right?.note(in: &census)
        if right?.periodEnd == nil, right?.productID == "season" { census.count("seen: no duration") }
        if record.transactions.count == LineageRecord.maximumTransactions {
            census.count("lived: more periods than a record keeps")
        }
        return compare(record, oracle, at: instant)
    }

    /// What would be answered later if nothing more were heard.
    private func later(
        _ record: LineageRecord, _ oracle: Oracle, after instant: Timestamp, _ random: inout StoreRandom,
        _ census: inout Census
    ) -> String? {
        let moments = oracle.moments(of: record.lineage.originalTransactionID)
        for moment in moments where Int.random(in: 0..<3, using: &random) == 0 {
            for moment in [moment - .milliseconds(1), moment] where moment > instant {
                if let found = compare(record, oracle, at: moment) { return "without news, \(found)" }
                let state = oracle.right(of: record.lineage.originalTransactionID, at: moment)?.state
                if state == "hold" { census.count("seen: hold") }
                census.count("delivered: answers held against silence")
            }
        }
        return nil
    }

    /// What would be answered about the past, as far as the books still say what was right then.
    private func before(
        _ record: LineageRecord, _ oracle: Oracle, before instant: Timestamp, _ random: inout StoreRandom,
        _ census: inout Census
    ) -> String? {
        guard let first = record.transactions.first?.purchaseDate, first < instant else { return nil }
        let span = (instant - first) / .milliseconds(1)
        let moment = first + .milliseconds(Int64(Double.random(in: 0...1, using: &random) * span))
        guard let right = oracle.hadAccess(record.lineage.originalTransactionID, at: moment) else { return nil }
        census.count("delivered: answers held against the past")
        let found = record.evaluated(at: moment, map: map).access
        return found == right ? nil : "had access at \(moment.rfc3339): \(found), should be \(right)"
    }

    private func customer(
        _ account: String, _ oracle: Oracle, at instant: Timestamp, _ census: inout Census
    ) -> String? {
        let own = records.values.filter { $0.customer == account && $0.lineage.environment == world.environment }
        let evaluation = CustomerEvaluation(of: own, at: instant, map: map)
        var found: [String: Oracle.Grant] = [:]
        for entitlement in evaluation.entitlements {
            found[entitlement.id] =
                entitlement.active
                ? Oracle.Grant(
                    isActive: true, until: entitlement.validUntil, willRenew: entitlement.willRenew,
                    by: Set(entitlement.grantedBy))
                : Oracle.Grant()
        }
        var right = oracle.grants(of: account, at: instant)
        // Of what was dropped from a record nobody can say any more what it gave.
        if own.contains(where: { $0.transactions.count == LineageRecord.maximumTransactions }) {
            found = found.filter { $0.value.isActive }
            right = right.filter { $0.value.isActive }
        }
        if found != right {
            let names = Set(found.keys).union(right.keys).filter { found[$0] != right[$0] }.sorted()
            return names.map {
                "\($0)\n  is        \(String(describing: found[$0]))\n  should be \(String(describing: right[$0]))"
            }.joined(separator: "\n")
        }
        if right.values.contains(where: { $0.by.count > 1 }) { census.count("seen: entitlement by several") }
        if right.values.contains(where: { !$0.isActive }) { census.count("seen: entitlement lost") }
        let unmapped = oracle.unmapped(of: account, at: instant)
        if Set(evaluation.unmappedProducts) != unmapped {
            return "unmapped \(evaluation.unmappedProducts), should be \(unmapped.sorted())"
        }
        // Whoever hands in the other environment's records, too, gets the answer of the first.
        let others = records.values.filter { $0.customer == account && $0.lineage.environment != world.environment }
        guard !own.isEmpty, CustomerEvaluation(of: own + others, at: instant, map: map) != evaluation else {
            return nil
        }
        return "the other environment changes the answer"
    }
}
