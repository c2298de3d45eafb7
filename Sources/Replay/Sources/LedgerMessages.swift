package import Time

/// A ledger, from a start to the end that it had when it was asked.
package protocol LedgerMessages: MessageSource {
    /// Moves the end to where the ledger ends now; what came since is read next.
    func extend() async throws(ReplayError)

    /// What is read of it.
    var extent: LedgerExtent { get async }
}

/// Which part of a ledger is read, and whether anything is missing.
package struct LedgerExtent: Sendable {
    package enum Range: Sendable {
        /// RabbitMQ's offsets.
        case offsets(ClosedRange<Int64>)
        /// The first and the last entry of the embedded ledger.
        case entries(first: String, last: String)
    }

    /// Nil for nothing.
    package var range: Range?
    /// When the ledger's oldest message was received, if that is known.
    package var begins: Timestamp?
    /// Whether reading began behind the oldest message.
    package var startsLate: Bool
    /// Whether retention removed what came before its oldest message.
    package var isCut: Bool
    /// Offsets that retention removed while they were read.
    package var lost: [ClosedRange<Int64>]

    package init(
        _ range: Range?, begins: Timestamp?, startsLate: Bool, isCut: Bool, lost: [ClosedRange<Int64>] = []
    ) {
        self.range = range
        self.begins = begins
        self.startsLate = startsLate
        self.isCut = isCut
        self.lost = lost
    }
}
