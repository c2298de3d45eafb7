import Broker
import CacheTier
import EmbeddedQueue
import Redis
import Replay
import Time

/// The embedded queue's ledger, from a start to the end that it had when it was asked.
actor EmbeddedLedger: LedgerMessages {
    private static let batch = 256

    private let queue: EmbeddedQueue
    private let startsLate: Bool
    private var state: EmbeddedQueue.LedgerState
    private var place: String
    private var read = 0

    init(_ queue: EmbeddedQueue, from start: LedgerStart) async throws(ReplayError) {
        self.queue = queue
        do throws(RedisError) { state = try await queue.ledgerState() } catch { throw ReplayError(embedded: error) }
        switch start {
        case .time(let instant):
            // What was received then had its place a moment later.
            place = "\(max(0, instant.milliseconds &- 1))-0"
            startsLate = true
        case .first, .last, .offset:
            place = "0-0"
            startsLate = false
        }
    }

    func next() async throws(ReplayError) -> [LedgerMessage] {
        guard let end = state.newest.flatMap({ StreamPosition($0) }), StreamPosition(place) ?? .beginning < end
        else { return [] }
        do throws(RedisError) {
            let items = try await queue.ledger(after: place, limit: Self.batch)
            place = items.last?.id ?? place
            let messages = items.filter { (StreamPosition($0.id) ?? .beginning) <= end }
            read += messages.count
            return messages.map { LedgerMessage($0.message, at: .entry($0.id)) }
        } catch { throw ReplayError(embedded: error) }
    }

    var share: Double { state.count == 0 ? 1 : min(1, Double(read) / Double(state.count)) }

    func extend() async throws(ReplayError) {
        do throws(RedisError) { state.newest = try await queue.ledgerState().newest ?? state.newest } catch {
            throw ReplayError(embedded: error)
        }
    }

    var extent: LedgerExtent {
        guard let oldest = state.oldest, let newest = state.newest else {
            return LedgerExtent(nil, begins: nil, startsLate: startsLate, isCut: !state.isWhole)
        }
        return LedgerExtent(
            .entries(first: oldest, last: newest),
            begins: StreamPosition(oldest).map { Timestamp(milliseconds: Int64(clamping: $0.milliseconds)) },
            startsLate: startsLate, isCut: !state.isWhole)
    }
}
