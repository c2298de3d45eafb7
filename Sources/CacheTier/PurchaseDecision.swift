package import AppStore
package import Entitlements

/// What became of one lineage that was posted for a customer.
package struct PurchaseDecision: Sendable, Hashable {
    package let decision: ClaimDecision
    /// Whether the store was changed: by what Apple signed, or by the claim.
    package let changed: Bool
    /// What the record has of the customer's claim now: this one, or an earlier one.
    package let claim: ClaimFact?
    /// The customer's revision after the last write; 0 when none was made.
    package let revision: UInt64

    package init(decision: ClaimDecision, changed: Bool = false, claim: ClaimFact? = nil, revision: UInt64 = 0) {
        self.decision = decision
        self.changed = changed
        self.claim = claim
        self.revision = revision
    }

    /// As the message says it that makes it durable.
    package func message(about lineage: LineageID) -> PurchaseMessage.Decision {
        var from: [String] = []
        var refusal: ClaimRefusal?
        switch decision {
        case .accepted(_, let others): from = others
        case .refused(let reason): refusal = reason
        case .alreadyTheirs: break
        }
        return PurchaseMessage.Decision(
            originalTransactionID: lineage.originalTransactionID, changed: changed, claim: claim, from: from,
            refusal: refusal)
    }
}
