internal import Redis
package import Runtime

/// Keeps the ledger within its bounds, and shows how much the queue holds.
package actor EmbeddedQueueKeeper: Service {
    package nonisolated let name = "embedded-queue"
    private let queue: EmbeddedQueue
    private let maximumAge: Duration
    private let maximumBytes: Int
    private let log: Log
    private let work: Gauge
    private let quarantine: Gauge
    private let ledger: Gauge
    private let events: Gauge
    private var running: Task<Void, Never>?

    package init(queue: EmbeddedQueue, maximumAge: Duration, maximumBytes: Int, metrics: Metrics, log: Log) {
        self.queue = queue
        self.maximumAge = maximumAge
        self.maximumBytes = maximumBytes
        self.log = log.part("embedded-queue")
        func gauge(_ part: String) -> Gauge {
            metrics.gauge(
                "holdfast_embedded_queue_messages",
                "Messages in the embedded queue's file, by what they are there for.",
                labels: ["part": part])
        }
        work = gauge("work")
        quarantine = gauge("quarantine")
        ledger = gauge("ledger")
        events = gauge("events")
    }

    package func start() async throws {
        running = Task(name: name) { [weak self] in
            var ticks = 0
            while !Task.isCancelled {
                await self?.look(trims: ticks % 12 == 0)
                ticks &+= 1
                // Cancelled: the loop ends.
                try? await Task.sleep(for: .seconds(5))
            }
        }
    }

    package func drain() async {
        running?.cancel()
        await running?.value
    }

    private func look(trims: Bool) async {
        do throws(RedisError) {
            if trims { try await queue.trimLedger(maximumAge: maximumAge, maximumBytes: maximumBytes) }
            let counts = try await queue.counts()
            work.set(Double(counts.work))
            quarantine.set(Double(counts.quarantine))
            ledger.set(Double(counts.ledger))
            events.set(Double(counts.events))
        } catch {
            log.error("the embedded queue cannot be looked after", ["error": .init(error)])
        }
    }
}
