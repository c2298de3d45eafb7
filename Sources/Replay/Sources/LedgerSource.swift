package import Broker

/// The ledger, from a start to the end that it had when it was asked.
package actor LedgerSource: MessageSource {
    private let reader: LedgerReader
    private var first: Int64
    private var end: Int64
    private var reached: Int64

    /// What the ledger held when it was asked; nil when it is empty.
    package private(set) var bounds: LedgerBounds?

    /// Reads from `start`, or from the oldest message, to `end`, or to the newest message of this moment.
    package init(_ reader: LedgerReader, from start: LedgerStart = .first, through end: Int64? = nil)
        async throws(ReplayError)
    {
        self.reader = reader
        do throws(BrokerError) {
            let bounds = try await reader.bounds()
            self.bounds = bounds
            await reader.seek(start)
            let oldest = bounds?.oldest.offset ?? 0
            let newest = bounds?.newest.offset ?? -1
            first = if case .offset(let offset) = start { max(offset, oldest) } else { oldest }
            self.end = min(end ?? newest, newest)
            reached = first - 1
        } catch { throw .broker(error) }
    }

    package func next() async throws(ReplayError) -> [LedgerMessage] {
        do throws(BrokerError) {
            let deliveries = try await reader.next(through: end)
            let messages = deliveries.compactMap { delivery in
                delivery.streamOffset.map { LedgerMessage(delivery.message, at: .offset($0)) }
            }
            if let last = deliveries.last?.streamOffset { reached = last }
            // The end itself may have been one of RabbitMQ's own notes.
            if messages.isEmpty { reached = max(reached, end) }
            return messages
        } catch { throw .broker(error) }
    }

    package var share: Double { end < first ? 1 : Double(reached - first + 1) / Double(end - first + 1) }

    /// The last offset that belongs to what is read.
    package var lastOffset: Int64 { end }
    package var firstOffset: Int64 { first }

    /// Offsets that retention removed before they could be read.
    package var lost: [ClosedRange<Int64>] { get async { await reader.lost } }

    /// Moves the end to where the ledger ends now; what came since is read next.
    package func extend() async throws(ReplayError) {
        do throws(BrokerError) {
            guard let bounds = try await reader.bounds() else { return }
            end = max(end, bounds.newest.offset)
        } catch { throw .broker(error) }
    }

    package func close() async { await reader.close() }
}
