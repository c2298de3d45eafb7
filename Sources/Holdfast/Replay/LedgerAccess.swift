import Broker
import EmbeddedQueue
import EmbeddedStore
import Redis
import Replay

/// The ledger of this installation: RabbitMQ's stream, or the embedded queue's.
enum LedgerAccess: Sendable {
    case rabbitMQ(LedgerReader, BrokerSettings)
    case embedded(EmbeddedQueue, EmbeddedLink)

    init(_ settings: HoldfastSettings) async throws {
        guard settings.embedded.queue == .embedded else {
            self = .rabbitMQ(try LedgerReader(settings: settings.broker), settings.broker)
            return
        }
        let (queue, link) = try await settings.openEmbeddedQueue()
        self = .embedded(queue, link)
    }

    func close() async {
        switch self {
        case .rabbitMQ(let reader, _): await reader.close()
        case .embedded(_, let link): await link.close()
        }
    }

    /// Reads from `start` to `end`, or to the newest message of this moment.
    func messages(from start: LedgerStart, through end: Int64?) async throws(ReplayError) -> any LedgerMessages {
        switch self {
        case .rabbitMQ(let reader, let broker):
            do throws(ReplayError) { return try await LedgerSource(reader, from: start, through: end) } catch {
                guard case .broker(let failure) = error, failure.code == .notFound else { throw error }
                throw .broker(
                    BrokerError(.notFound, "there is no \(broker.names.ledger): nothing has come in here yet"))
            }
        case .embedded(let queue, _):
            if case .offset = start { throw .noOffsets }
            guard end == nil else { throw .noOffsets }
            return try await EmbeddedLedger(queue, from: start)
        }
    }

    /// Messages that wait to be applied.
    func waiting() async throws(ReplayError) -> Int {
        switch self {
        case .rabbitMQ(_, let broker):
            let queues = Set([broker.names.apply] + RetryLevel.allCases.map { broker.names.retry($0) })
            do throws(BrokerError) {
                let states = try await BrokerInspector(settings: broker).queueStates()
                return states.filter { queues.contains($0.name) }.compactMap(\.messages).reduce(0, +)
            } catch { throw .broker(error) }
        case .embedded(let queue, _):
            do throws(RedisError) { return try await queue.counts().work } catch { throw ReplayError(embedded: error) }
        }
    }
}

extension ReplayError {
    init(embedded error: RedisError) {
        self = .broker(BrokerError(.unreachable, "the embedded queue: \(error)"))
    }

    static let noOffsets = Self.file("the embedded ledger has no offsets: name a time with --from and --to")
}
