/// How much it matters when a lineage is checked. What is more urgent is less, and goes first.
package enum Urgency: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// Somebody's access hangs on it: the period is over and there is no word from Apple, or what is known cannot be all.
    case access
    /// An end is near, or is being tried for: last days, billing retry, grace.
    case ending
    /// Everything else, at leisure.
    case routine

    package static func < (a: Urgency, b: Urgency) -> Bool { a.rawValue < b.rawValue }
    package var name: String { "\(self)" }
}
