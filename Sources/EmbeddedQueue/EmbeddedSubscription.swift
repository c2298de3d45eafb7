package import Broker
internal import Redis
package import Runtime

/// Hands on what is due in the embedded queue, oldest first, so many at a time, and takes away what was acknowledged.
///
/// What is in hand when the process is killed is still in the queue, and comes again.
package actor EmbeddedSubscription: Service {
    package nonisolated let name = "embedded-subscription"
    private let queue: EmbeddedQueue
    private let concurrency: Int
    private let poll: Duration
    private let log: Log
    private let handler: BrokerSubscription.Handler
    private var inHand: Set<String> = []
    /// What was given back, and when it may be handed on again: it must not keep others from their turn.
    private var again: [String: ContinuousClock.Instant] = [:]
    private var isDraining = false
    private var running: Task<Void, Never>?
    private var pause: Task<Void, Never>?
    private var wakeups: Task<Void, Never>?
    /// Something may have come while nobody waited.
    private var isWoken = false

    /// `poll` is how often it looks for what has become due, or was put there by another process.
    package init(
        queue: EmbeddedQueue, concurrency: Int, poll: Duration = .milliseconds(200), log: Log,
        handler: @escaping BrokerSubscription.Handler
    ) {
        self.queue = queue
        self.concurrency = max(1, concurrency)
        self.poll = poll
        self.log = log.part("embedded-queue")
        self.handler = handler
    }

    package func start() async throws {
        let before = try await queue.lastID()
        let arrivals = queue.wakeups()
        wakeups = Task(name: "embedded-wakeups") { [weak self] in
            for await _ in arrivals { await self?.wake() }
        }
        running = Task(name: name) { await run(before) }
    }

    /// Takes nothing more, and returns when what is in hand is settled.
    package func drain() async {
        isDraining = true
        wake()
        wakeups?.cancel()
        await running?.value
    }

    private func wake() {
        isWoken = true
        pause?.cancel()
    }

    private func run(_ before: UInt64) async {
        await withDiscardingTaskGroup { group in
            while !isDraining {
                var hasStarted = false
                isWoken = false
                do throws(RedisError) {
                    let limit = inHand.count + again.count + concurrency
                    for item in try await queue.due(limit: limit) where mayBegin(item.id) {
                        hasStarted = true
                        inHand.insert(item.id)
                        let isOld = UInt64(item.id).map { $0 <= before } ?? true
                        let isRedelivered = isOld || again[item.id] != nil
                        group.addTask { await self.handle(item, isRedelivered) }
                    }
                } catch {
                    log.error("the embedded queue cannot be read", ["error": .init(error)])
                }
                if !hasStarted || inHand.count >= concurrency { await rest() }
            }
        }
    }

    private func mayBegin(_ id: String) -> Bool {
        guard !isDraining, inHand.count < concurrency, !inHand.contains(id) else { return false }
        return again[id].map { $0 <= .now } ?? true
    }

    private func handle(_ item: EmbeddedQueue.Item, _ isRedelivered: Bool) async {
        let settlement = await handler(
            BrokerDelivery(item.message, from: queue.names.apply, isRedelivered: isRedelivered))
        switch settlement {
        case .acknowledge:
            again[item.id] = nil
            do throws(RedisError) { try await queue.acknowledge(item.id) } catch {
                // It stays, and is handed on again: harmless, but never silent.
                log.error("what was settled could not be taken out of the queue", ["error": .init(error)])
                again[item.id] = .now + poll * 5
            }
        case .requeue: again[item.id] = .now + poll * 5
        }
        inHand.remove(item.id)
        wake()
    }

    /// Until something came, was settled, or may have become due.
    private func rest() async {
        guard !isWoken, !isDraining else { return }
        let poll = poll
        let task = Task<Void, Never> {
            // Cancelled means woken.
            do { try await Task.sleep(for: poll) } catch { return }
        }
        pause = task
        await task.value
    }
}
