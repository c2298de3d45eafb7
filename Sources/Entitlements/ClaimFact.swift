package import Time

/// That a backend posted a signed transaction of the lineage for a customer, and that this was accepted.
///
/// Only what was accepted is a fact: whether it may be depends on who has the lineage at that moment, and must not be
/// decided again each time the facts are put together.
package struct ClaimFact: Sendable, Hashable {
    package var customer: String
    package var claimedAt: Timestamp
    /// The transaction that was posted.
    package var transactionID: String
    /// The customer whom the token named then; nil when there was none. Renewals go on naming that one, which does not
    /// take the lineage back; a token that was set since does.
    package var over: String?

    package init(customer: String, claimedAt: Timestamp, transactionID: String, over: String? = nil) {
        self.customer = customer
        self.claimedAt = claimedAt
        self.transactionID = transactionID
        self.over = over
    }
}

extension ClaimFact: VersionedFact {
    var signedDate: Timestamp { claimedAt }
    var takesBack: Bool { false }
    var content: [UInt8] { RecordWriter.bytes(of: self) }

    /// The order in which claims stand in the record. By bytes, as customers are compared everywhere.
    func isBefore(_ other: ClaimFact) -> Bool {
        if claimedAt != other.claimedAt { return claimedAt < other.claimedAt }
        return customer.utf8.lexicographicallyPrecedes(other.customer.utf8)
    }
}

extension LineageRecord {
    package static let maximumClaims = 16

    /// Who has the lineage: nobody yet, one customer, or under `share` each that claimed it and the one the token names.
    /// In the order of their bytes.
    package func customers(under policy: TransferPolicy) -> [String] {
        let named = owner.map { [$0.customer] } ?? []
        guard let newest = claims.last else { return named }
        if policy == .share {
            return (named + claims.map(\.customer)).reduce(into: []) { customers, customer in
                if !customers.contains(where: { $0.isSameCustomer(as: customer) }) { customers.append(customer) }
            }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
        guard let owner, owner.signedDate > newest.claimedAt,
            !(newest.over?.isSameCustomer(as: owner.customer) ?? false)
        else { return [newest.customer] }
        return named
    }

    /// Keeps the newest claim of each customer, and of these the newest `maximumClaims`.
    ///
    /// The order is of the claims kept, and a customer's claim only ever becomes newer: what was dropped could not have
    /// come back, so dropping it at once or at the end is the same (invariant 3).
    mutating func keep(_ claim: ClaimFact) -> Bool {
        if let index = claims.firstIndex(where: { $0.customer.isSameCustomer(as: claim.customer) }) {
            guard claims[index].isSuperseded(by: claim) else { return false }
            claims.remove(at: index)
        }
        let place = claims.firstIndex { claim.isBefore($0) } ?? claims.endIndex
        let isFull = claims.count >= Self.maximumClaims
        guard !isFull || place > claims.startIndex else { return false }
        claims.insert(claim, at: place)
        if isFull { claims.removeFirst() }
        return true
    }
}

extension String {
    /// Swift takes two spellings of an accented letter for one string; customers are told apart by their bytes.
    func isSameCustomer(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
