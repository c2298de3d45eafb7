import Broker
import EmbeddedQueue
import EmbeddedStore
import Redis
import Runtime

/// The embedded store and queue of this process, where the settings want them.
struct EmbeddedParts: Sendable {
    private(set) var store: EmbeddedRedis?
    private(set) var queue: EmbeddedQueue?
    /// To be started before everything else.
    private(set) var services: [any Service] = []

    /// Neither.
    init() {}

    init(_ settings: HoldfastSettings, metrics: Metrics, log: Log) throws {
        let embedded = settings.embedded
        guard embedded.store == .embedded || embedded.queue == .embedded else { return }
        services.append(EmbeddedFolder(path: embedded.folder))
        if embedded.store == .embedded {
            let store = try EmbeddedRedis(settings: embedded.storeFile, metrics: metrics, log: log)
            self.store = store
            services.append(store)
        }
        if embedded.queue == .embedded {
            let file = try EmbeddedRedis(settings: embedded.queueFile, log: log)
            let queue = EmbeddedQueue(
                redis: file.connector.link("queue"), names: settings.broker.names, eventsKept: embedded.eventsKept)
            self.queue = queue
            services += [
                file,
                EmbeddedQueueKeeper(
                    queue: queue, maximumAge: embedded.ledgerMaximumAge, maximumBytes: embedded.ledgerMaximumBytes,
                    metrics: metrics, log: log),
            ]
        }
    }

    /// What is embedded is one process' own: a gateway and a consumer that run apart cannot share it.
    static func refuse(_ settings: EmbeddedSettings, _ roles: [LineProcess.Role]) throws(UsageError) {
        guard roles.count == 1 else { return }
        if settings.store == .embedded {
            throw UsageError(
                "store.kind is embedded, which one process has for itself: run holdfast serve, or set it to redis")
        }
        if settings.queue == .embedded {
            throw UsageError(
                "queue.kind is embedded, which one process has for itself: run holdfast serve, or set it to rabbitmq")
        }
    }
}

extension HoldfastSettings {
    /// The embedded queue as a command at a terminal uses it, while `serve` runs or does not; and what is to be closed.
    func openEmbeddedQueue() async throws -> (EmbeddedQueue, EmbeddedLink) {
        var file = embedded.queueFile
        file.makesFile = false
        let link = EmbeddedLink(name: "command", store: try EmbeddedRedis(settings: file), ownsStore: true)
        await link.start()
        return (EmbeddedQueue(redis: link, names: broker.names, eventsKept: embedded.eventsKept), link)
    }

    func withEmbeddedQueue<Value>(_ body: (EmbeddedQueue) async throws -> Value) async throws -> Value {
        let (queue, link) = try await openEmbeddedQueue()
        let result: Result<Value, any Error>
        do { result = .success(try await body(queue)) } catch { result = .failure(error) }
        await link.close()
        return try result.get()
    }
}
