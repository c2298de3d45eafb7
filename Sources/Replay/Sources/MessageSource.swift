/// Where the messages of a replay come from.
package protocol MessageSource: Sendable {
    /// The next messages, in order; none at the end.
    func next() async throws(ReplayError) -> [LedgerMessage]

    /// How much of it has been read, from 0 to 1.
    var share: Double { get async }
}
