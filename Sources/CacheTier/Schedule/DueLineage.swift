package import Entitlements
package import Time

/// A lineage about which Apple is to be asked, claimed by this process for a while.
package struct DueLineage: Sendable, Hashable {
    package let lineage: LineageID
    package let urgency: Urgency
    /// When it came due.
    package let since: Timestamp
    /// When others may claim it.
    package let leasedUntil: Timestamp
    /// Whose copies stand in the schedule; several under `share`.
    package let holders: [Holder]
    /// By whom it is claimed.
    let owner: String
}

/// How much is due of one app in one environment, by urgency.
package struct DueStatus: Sendable, Hashable {
    package struct Part: Sendable, Hashable {
        /// Lineages that will be asked about some time.
        package var scheduled = 0
        /// Those that are to be asked about now and nobody is at.
        package var due = 0
        /// Of these, those that have been waiting for longer than is fine.
        package var overdue = 0
        /// When that came due which has been waiting longest, or what will come due next.
        package var oldest: Timestamp?

        package init() {}
    }

    package var parts: [Urgency: Part] = [:]

    package init() {}

    package subscript(urgency: Urgency) -> Part { parts[urgency] ?? Part() }
    package var scheduled: Int { parts.values.reduce(0) { $0 + $1.scheduled } }
    package var due: Int { parts.values.reduce(0) { $0 + $1.due } }
    package var overdue: Int { parts.values.reduce(0) { $0 + $1.overdue } }
}
