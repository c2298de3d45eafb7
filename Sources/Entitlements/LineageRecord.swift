import Time

/// All that is known of one lineage: facts that Apple signed, and nothing derived from them.
///
/// `fold` and `merge` are a join: commutative, associative and idempotent, so the same observations in any order and any
/// number give the same bytes (invariant 3). Each part of the record is a join of its own:
/// - a transaction, by purchase date and transaction id: the last signed version wins;
/// - the transactions kept: the newest `maximumTransactions` by that same key. Keeping the greatest N of a set is
///   order-free as long as what they are ranked by never changes; therefore the purchase date is part of the key and is
///   not read from whichever version is held;
/// - renewal, status and owner: the last signed wins;
/// - claims: of those that took it from somebody the newest of each customer, of the others the oldest, `maximumClaims` each.
///
/// Lost by the bound are the oldest periods, with refunds of them: they decide nothing today, and the ledger has them.
/// Who the customer is does not depend on a transaction that may be dropped, hence `owner` stands beside them.
package struct LineageRecord: Sendable, Hashable {
    package static let maximumTransactions = 64

    package let lineage: LineageID
    /// By purchase date, then transaction id; each pair once.
    package internal(set) var transactions: [TransactionFact] = []
    package internal(set) var renewal: RenewalFact?
    package internal(set) var status: StatusFact?
    package internal(set) var owner: OwnerFact?
    /// In the order of `claimedAt`, then the customer's bytes; one for each customer.
    package internal(set) var claims: [ClaimFact] = []

    package init(lineage: LineageID) { self.lineage = lineage }

    /// By bytes, since Swift takes two spellings of an accented letter for one string.
    package static func == (a: LineageRecord, b: LineageRecord) -> Bool {
        a.lineage == b.lineage && a.encoded() == b.encoded()
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(lineage)
        hasher.combine(encoded())
    }

    /// The customer named by the newest signed transaction that names one (ruling 1). Who has the lineage is
    /// `customers(under:)`.
    package var customer: String? { owner?.customer }

    /// Takes in one observation; says whether anything changed. One of another lineage changes nothing.
    ///
    /// A transaction goes under its own key and is never taken for the newest because it came last
    /// (`Rule.olderTransaction`). What the news is called is not asked: without facts it changes nothing (`Rule.notice`).
    @discardableResult
    package mutating func fold(_ observation: Observation) -> Bool {
        guard observation.lineage == lineage else { return false }
        var news = LineageRecord(lineage: lineage)
        if let transaction = observation.transaction {
            news.transactions = [transaction]
            news.owner = transaction.appAccountToken.map {
                OwnerFact(customer: $0, signedDate: transaction.signedDate, payloadHash: transaction.payloadHash)
            }
        }
        news.renewal = observation.renewal
        news.status = observation.status
        if let claim = observation.claim { news.claims = [claim] }
        return merge(news)
    }

    /// Joins what another record of the same lineage knows; says whether anything changed.
    @discardableResult
    package mutating func merge(_ other: LineageRecord) -> Bool {
        guard other.lineage == lineage else { return false }
        var changed = false
        for transaction in other.transactions where keep(transaction) { changed = true }
        if renewal.keepLater(other.renewal) { changed = true }
        if status.keepLater(other.status) { changed = true }
        if owner.keepLater(other.owner) { changed = true }
        for claim in other.claims where keep(claim) { changed = true }
        return changed
    }

    package func merging(_ other: LineageRecord) -> LineageRecord {
        var merged = self
        merged.merge(other)
        return merged
    }

    private mutating func keep(_ transaction: TransactionFact) -> Bool {
        let place = transactions.firstIndex { !$0.isBefore(transaction) } ?? transactions.endIndex
        if place < transactions.endIndex, !transaction.isBefore(transactions[place]) {
            guard transactions[place].isSuperseded(by: transaction) else { return false }
            transactions[place] = transaction
        } else {
            let isFull = transactions.count >= Self.maximumTransactions
            guard !isFull || place > transactions.startIndex else { return false }
            transactions.insert(transaction, at: place)
            if isFull { transactions.removeFirst() }
        }
        return true
    }
}

extension TransactionFact {
    /// The order of the key: purchase date, then the bytes of the transaction id.
    func isBefore(_ other: TransactionFact) -> Bool {
        if purchaseDate != other.purchaseDate { return purchaseDate < other.purchaseDate }
        return transactionID.utf8.lexicographicallyPrecedes(other.transactionID.utf8)
    }
}
