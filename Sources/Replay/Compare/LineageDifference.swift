package import Entitlements

/// In what one lineage of the fold and the live one differ.
package struct LineageDifference: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// Each has the lineage, with other facts.
        case differs
        case onlyInLedger
        case onlyLive
        /// The facts are the same, and another customer has it than they say.
        case misplaced
        /// A customer has a copy that the lineage's locator does not know.
        case stray
        /// What is stored cannot be read.
        case unreadable
    }

    package let lineage: LineageID
    package let kind: Kind
    /// Whether the ledger has facts that the live record lacks.
    package var liveLacks = false
    /// Whether the live record has facts that the ledger lacks.
    package var liveHasMore = false
    /// Whether all that is live and not in the ledger was signed before the ledger begins, so that it may have been in it.
    package var mayBeOlderThanLedger = false
    /// `mine` is the ledger's, `theirs` the live one's.
    package var members: [MemberDifference] = []
    /// How the answers differ now; empty when they do not.
    package var evaluation: [MemberDifference] = []
    package var detail: String?

    init(_ lineage: LineageID, _ kind: Kind, detail: String? = nil) {
        self.lineage = lineage
        self.kind = kind
        self.detail = detail
    }

    /// Whether it is to be called a difference: what retention may have cut off is none.
    package var counts: Bool { liveLacks || !mayBeOlderThanLedger }
}
