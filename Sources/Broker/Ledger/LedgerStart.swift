package import Time

/// Where in the ledger reading begins.
package enum LedgerStart: Sendable, Hashable {
    case first
    /// With the last chunk, which holds the newest message and perhaps some before it.
    case last
    case offset(Int64)
    /// With the chunk that was being written then: some messages before it may come, too.
    case time(Timestamp)

    var argument: Topology.Argument {
        switch self {
        case .first: .text("first")
        case .last: .text("last")
        case .offset(let offset): .number(offset)
        // Whole seconds; the one before, so that nothing of that second is missed.
        case .time(let instant): .timestamp(max(0, instant.milliseconds / 1000))
        }
    }
}
