import Broker
import CacheTier
import EmbeddedQueue
import EmbeddedStore
import JSON
import Redis
import Runtime

/// `holdfast move`: from the embedded store and queue to Redis and RabbitMQ.
enum MoveCommand {
    static let summary = "carries the embedded store and queue over to Redis and RabbitMQ"
    static let help = """
        usage: holdfast move [--json] [--settings FILE]

        Copies the embedded store into the Redis of redis.*, and the embedded queue into the RabbitMQ of broker.*: records,
        histories, product maps and the change feed; the ledger, what is not applied yet, and quarantine. Whichever file is
        in embedded.folder is moved, whatever store.kind and queue.kind say.

        1. Stop holdfast serve.
        2. holdfast move
        3. Set store.kind to redis and queue.kind to rabbitmq, and start again. The spool goes along by itself.

        Start nothing on the new servers before it is done. Interrupted, it is simply run again, also when serve ran in
        between: what it had copied is copied anew. Run once more when it is done it finds nothing to do. A Redis with
        another store is left as it is; hf: keys that belong to no store are removed. The files stay where they are; the
        last events are not sent again.

          --json           answer as JSON
          --settings FILE  the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 moved, 1 that Redis holds another store, 2 usage, 3 something is unreachable.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(arguments, options: ["settings"], flags: ["json"])
        if let stray = arguments.operands.first { throw UsageError("\(stray) is one word too many") }
        let settings = try HoldfastSettings.load(path: arguments.value("settings"))
        let embedded = settings.embedded
        let hasStore = (try? FileFacts(of: embedded.storeFile.path)) != nil
        let hasQueue = (try? FileFacts(of: embedded.queueFile.path)) != nil
        guard hasStore || hasQueue else {
            throw UsageError("there is nothing in \(embedded.folder): set embedded.folder to where serve kept it")
        }
        let folder = EmbeddedFolder(path: embedded.folder)
        do { try await folder.start() } catch let taken as EmbeddedFolder.Taken {
            throw UsageError("\(taken.description); for a move, stop holdfast serve first")
        }
        let isQuiet = arguments.has("json")
        let result: Result<(StoreMove.Report?, QueueMove.Report?), any Error>
        do {
            let store = hasStore ? try await moveStore(settings, isQuiet: isQuiet) : nil
            let queue = hasQueue ? try await moveQueue(settings, isQuiet: isQuiet) : nil
            result = .success((store, queue))
        } catch { result = .failure(error) }
        await folder.drain()
        let (store, queue): (StoreMove.Report?, QueueMove.Report?)
        do { (store, queue) = try result.get() } catch let failure as StoreMove.Failure {
            guard case .otherStore = failure else { throw failure }
            Console.error(failure.description)
            return 1
        }
        print(isQuiet ? json(store, queue) : text(store, queue))
        return 0
    }

    private static func moveStore(_ settings: HoldfastSettings, isQuiet: Bool) async throws -> StoreMove.Report {
        let loop = try EventLoop(name: "move")
        let source = EmbeddedLink(
            name: "move", store: try EmbeddedRedis(settings: settings.embedded.storeFile), ownsStore: true)
        let target = settings.redis.connector(loop: loop).link("move")
        await source.start()
        await target.start()
        let move = StoreMove(from: source, to: target, layoutKey: StoreInspector.layoutKey)
        let result: Result<StoreMove.Report, StoreMove.Failure>
        do throws(StoreMove.Failure) {
            result = .success(
                try await move.run { report, fraction in
                    if !isQuiet { progress("store: \(Int(fraction * 100)) %, \(report.copied) keys copied") }
                })
        } catch { result = .failure(error) }
        await source.close()
        await target.close()
        loop.stop()
        return try result.get()
    }

    private static func moveQueue(_ settings: HoldfastSettings, isQuiet: Bool) async throws -> QueueMove.Report {
        let log = Log(part: "move", minimum: max(settings.logLevel, .warning))
        let publisher = try BrokerPublisher(settings: settings.broker, metrics: Metrics(), log: log)
        try await publisher.start()
        let result: Result<QueueMove.Report, any Error>
        do {
            // The publisher would go on trying to connect; who asks at a terminal wants to know.
            _ = try await BrokerInspector(settings: settings.broker).messageCount(of: settings.broker.names.apply)
            result = .success(try await carry(settings, publisher, isQuiet: isQuiet))
        } catch { result = .failure(error) }
        await publisher.drain()
        return try result.get()
    }

    private static func carry(
        _ settings: HoldfastSettings, _ publisher: BrokerPublisher, isQuiet: Bool
    ) async throws -> QueueMove.Report {
        try await settings.withEmbeddedQueue { queue in
            try await QueueMove(from: queue, to: publisher).run { report in
                if !isQuiet, report.ledger % 1024 == 0 { progress("queue: \(report.ledger) of the ledger") }
            }
        }
    }

    private static func progress(_ text: String) { Log.standardError(Array("\(text)\n".utf8)) }

    private static func text(_ store: StoreMove.Report?, _ queue: QueueMove.Report?) -> String {
        var lines: [String] = []
        if let store {
            lines.append(
                store.wasDone
                    ? "Redis has the store already."
                    : "Redis has the store: \(store.copied) keys copied"
                        + (store.removed > 0 ? ", \(store.removed) of an interrupted move removed before." : "."))
        }
        if let queue {
            lines.append(
                "RabbitMQ has the queue: \(queue.ledger) of the ledger, \(queue.work) to be applied, "
                    + "\(queue.quarantine) in quarantine.")
        }
        return (lines + ["Now set store.kind to redis and queue.kind to rabbitmq, and start again."]).joined(
            separator: "\n")
    }

    private static func json(_ store: StoreMove.Report?, _ queue: QueueMove.Report?) -> String {
        var json = JSONWriter()
        json.beginObject()
        if let store {
            json.member("keysCopied", store.copied)
            json.member("keysRemoved", store.removed)
            json.member("storeWasMovedBefore", store.wasDone)
        }
        if let queue {
            json.member("ledger", queue.ledger)
            json.member("work", queue.work)
            json.member("quarantine", queue.quarantine)
        }
        json.endObject()
        return json.text
    }
}
