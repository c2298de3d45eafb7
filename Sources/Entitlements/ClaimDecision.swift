package import Time

/// What is answered to a claim.
package enum ClaimDecision: Sendable, Hashable {
    /// The customer has it once the fact is folded in; `from` had it and have it no more.
    case accepted(ClaimFact, from: [String])
    /// The customer has it already.
    case alreadyTheirs
    case refused(ClaimRefusal)

    /// Decides a claim; the same for the pre-check, at the gateway and in the consumer.
    ///
    /// - Parameters:
    ///   - record: The lineage with the claimed transaction in it.
    ///   - access: Whether the lineage gives access at `instant`.
    ///   - transfers: When the lineage moved from one customer to another before.
    ///   - isForced: Whether an operator insists; policy and limits do not count then.
    package init(
        of customer: String, transactionID: String, at instant: Timestamp, record: LineageRecord, access: Bool,
        rules: TransferRules, transfers: [Timestamp], isForced: Bool = false
    ) {
        let holders = record.customers(under: rules.policy)
        if holders.contains(where: { $0.isSameCustomer(as: customer) }) {
            self = .alreadyTheirs
            return
        }
        let others = rules.policy == .share ? [] : holders
        let claim = ClaimFact(
            customer: customer, claimedAt: instant, transactionID: transactionID, over: record.owner?.customer,
            takesOver: isForced || !others.isEmpty)
        if !isForced, let refusal = Self.refusal(at: instant, record, holders, access, rules, transfers) {
            self = .refused(refusal)
            return
        }
        self = .accepted(claim, from: others)
    }

    private static func refusal(
        at instant: Timestamp, _ record: LineageRecord, _ holders: [String], _ access: Bool, _ rules: TransferRules,
        _ transfers: [Timestamp]
    ) -> ClaimRefusal? {
        guard !holders.isEmpty else { return nil }
        switch rules.policy {
        case .keep: return .heldByAnother
        case .transferIfInactive where access: return .stillActive
        case .share: return holders.count >= LineageRecord.maximumClaims ? .tooManyCustomers : nil
        case .transfer, .transferIfInactive:
            let recent = transfers.count { $0 > instant - rules.window && $0 <= instant }
            return recent >= rules.limit ? .tooManyTransfers : nil
        }
    }
}

/// Why a claim is refused: a stable code and a sentence that names nobody else.
package enum ClaimRefusal: String, Error, Sendable, Hashable, CaseIterable {
    case heldByAnother
    case stillActive
    case tooManyTransfers
    case tooManyCustomers

    package var sentence: String {
        switch self {
        case .heldByAnother: "The purchase belongs to another customer, and the app's policy is that it stays there."
        case .stillActive:
            "The purchase belongs to another customer and still gives access; it can move once it does not."
        case .tooManyTransfers: "The purchase has moved between customers too often lately."
        case .tooManyCustomers: "The purchase is shared by as many customers as it can be."
        }
    }
}
