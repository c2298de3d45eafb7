package import Broker
internal import Consumer
internal import Time

/// The ledger, from a start to the end that it had when it was asked.
package actor LedgerSource: LedgerMessages {
    private let reader: LedgerReader
    private var first: Int64
    private var end: Int64
    private var reached: Int64

    /// What the ledger held when it was asked; nil when it is empty.
    private var bounds: LedgerBounds?

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

    package var extent: LedgerExtent {
        get async {
            let begins = bounds.flatMap { bounds in
                bounds.oldest.headers[MessageHeader.receivedAt].flatMap { Timestamp(rfc3339: $0) }
                    ?? bounds.oldest.timestamp
            }
            return LedgerExtent(
                first <= end ? .offsets(first...end) : nil, begins: begins,
                startsLate: first > (bounds?.oldest.offset ?? 0), isCut: bounds?.isWhole == false,
                lost: await reader.lost)
        }
    }

    package func extend() async throws(ReplayError) {
        do throws(BrokerError) {
            guard let bounds = try await reader.bounds() else { return }
            end = max(end, bounds.newest.offset)
        } catch { throw .broker(error) }
    }

    package func close() async { await reader.close() }
}
