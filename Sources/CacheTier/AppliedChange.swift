package import Entitlements

/// What applying one observation did.
package struct AppliedChange: Sendable, Hashable {
    /// Whether the store was changed: the record, or who has it.
    package let changed: Bool
    package let holder: Holder
    /// Who had the lineage before, if it was somebody else.
    package let previousHolder: Holder?
    /// The holder's revision after the last write; 0 when nothing is stored.
    package let revision: UInt64
    /// What was known before; nil when the lineage is new.
    package let before: LineageRecord?
    package let after: LineageRecord
}
