/// What becomes of a lineage that a second customer claims.
package enum TransferPolicy: String, Sendable, Hashable, CaseIterable {
    /// Whoever has it keeps it (ruling 2).
    case keep
    /// The last to claim it has it.
    case transfer
    /// The last to claim it has it, but it moves only while it gives no access.
    case transferIfInactive
    /// All who claim it have it.
    case share
}

/// An app's policy, and how often a lineage may move: two accounts that take it from each other in turn share it.
package struct TransferRules: Sendable, Hashable {
    package var policy: TransferPolicy
    /// Moves of one lineage within `window`; further ones are refused.
    package var limit: Int
    package var window: Duration

    package init(
        policy: TransferPolicy = .keep, limit: Int = 3, window: Duration = .seconds(30 * 24 * 60 * 60)
    ) {
        self.policy = policy
        self.limit = limit
        self.window = window
    }

    package static let standard = TransferRules()
}
