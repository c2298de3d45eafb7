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
    /// Whether it was accepted although somebody had the lineage, or by force. One that was accepted because nobody had it
    /// may rest on a store that had lost its data.
    package var takesOver: Bool

    package init(
        customer: String, claimedAt: Timestamp, transactionID: String, over: String? = nil, takesOver: Bool = false
    ) {
        self.customer = customer
        self.claimedAt = claimedAt
        self.transactionID = transactionID
        self.over = over
        self.takesOver = takesOver
    }
}

extension ClaimFact: VersionedFact {
    var signedDate: Timestamp { claimedAt }
    var takesBack: Bool { false }
    var content: [UInt8] { RecordWriter.bytes(of: self) }

    /// The order in which claims stand in the record. By bytes, as customers are compared everywhere.
    func isBefore(_ other: ClaimFact) -> Bool {
        if claimedAt != other.claimedAt { return claimedAt < other.claimedAt }
        if !customer.isSameCustomer(as: other.customer) {
            return customer.utf8.lexicographicallyPrecedes(other.customer.utf8)
        }
        return !takesOver && other.takesOver
    }
}

extension LineageRecord {
    /// Of each kind (`ClaimFact.takesOver`).
    package static let maximumClaims = 16

    /// Who has the lineage: nobody yet, one customer, or under `share` each that claimed it and the one the token names.
    /// In the order of their bytes.
    package func customers(under policy: TransferPolicy) -> [String] {
        let named = owner.map { [$0.customer] } ?? []
        guard let counting = countingClaim(under: policy) else { return named }
        if policy == .share {
            return (named + claims.map(\.customer)).reduce(into: []) { customers, customer in
                if !customers.contains(where: { $0.isSameCustomer(as: customer) }) { customers.append(customer) }
            }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
        guard let owner, owner.signedDate > counting.claimedAt,
            !(counting.over?.isSameCustomer(as: owner.customer) ?? false)
        else { return [counting.customer] }
        return named
    }

    /// Which claim says who has it. Of two that were accepted because nobody was known to have it, which only a store that
    /// lost its data lets happen, the older counts where the policy protects whoever has it.
    private func countingClaim(under policy: TransferPolicy) -> ClaimFact? {
        switch policy {
        case .transfer, .share: claims.last
        case .keep, .transferIfInactive: claims.last(where: \.takesOver) ?? claims.first
        }
    }

    /// Keeps, of the claims that took the lineage from somebody, the newest of each customer, and of these the newest
    /// `maximumClaims`; and of those for which nobody had it the oldest, likewise.
    ///
    /// A customer's claim of either kind only ever moves away from the end where one is dropped: what was dropped could
    /// not have come back, so dropping it at once or at the end is the same (invariant 3).
    mutating func keep(_ claim: ClaimFact) -> Bool {
        let before = claims
        if let index = claims.firstIndex(where: {
            $0.takesOver == claim.takesOver && $0.customer.isSameCustomer(as: claim.customer)
        }) {
            let known = claims[index]
            guard claim.takesOver ? known.isSuperseded(by: claim) : claim.isSuperseded(by: known) else { return false }
            claims.remove(at: index)
        }
        claims.insert(claim, at: claims.firstIndex { claim.isBefore($0) } ?? claims.endIndex)
        if claims.count(where: { $0.takesOver == claim.takesOver }) > Self.maximumClaims,
            let outermost = claim.takesOver
                ? claims.firstIndex(where: \.takesOver) : claims.lastIndex(where: { !$0.takesOver })
        {
            claims.remove(at: outermost)
        }
        return claims != before
    }
}

extension String {
    /// Swift takes two spellings of an accented letter for one string; customers are told apart by their bytes.
    func isSameCustomer(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
