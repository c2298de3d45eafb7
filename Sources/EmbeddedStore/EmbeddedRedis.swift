package import Redis
package import Runtime
internal import Synchronization

/// Redis' commands over one file on this machine's own disk: for a process without servers.
///
/// Every command is carried out as Redis would, scripts included, by the same Lua. A write returns once it is on the
/// disk; writes that arrive together share one transaction and one sync. Several processes may open the same file: a
/// command at a terminal works on it while `serve` runs.
package final class EmbeddedRedis: RedisCommands, Service {
    package let name = "embedded-store"
    private let loops: [EventLoop]
    private let writer: KeyWriter
    private let reader: KeyReader
    private let isOpened = Atomic(false)
    private let links = Atomic<UInt64>(0)

    package init(
        settings: EmbeddedStoreSettings, clock: WallClock = .system, metrics: Metrics = Metrics(),
        log: Log = .discarding
    ) throws(SystemError) {
        let writing = try EventLoop(name: "store-writer")
        let reading = try EventLoop(name: "store-reader")
        loops = [writing, reading]
        let log = log.part("embedded-store")
        let reader = KeyReader(settings, loop: reading, clock: clock, log: log)
        self.reader = reader
        writer = KeyWriter(
            settings, loop: writing, clock: clock, metrics: EmbeddedStoreMetrics(metrics), log: log
        ) { [weak reader] in reader?.streamsGrew() }
    }

    deinit { for loop in loops { loop.stop() } }

    /// Whether the file is open.
    package var isOpen: Bool { isOpened.load(ordering: .acquiring) }

    // MARK: Service

    /// Opens the file, and makes it when it is not there. Throws `EmbeddedStoreError` when it cannot be used.
    package func start() async throws {
        try await writer.open()
        try await reader.open()
        isOpened.store(true, ordering: .releasing)
    }

    package func drain() async {
        isOpened.store(false, ordering: .releasing)
        await writer.close()
        await reader.close()
    }

    // MARK: Commands

    func newLinkNumber() -> UInt64 { links.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Reads of a link that wait for a stream fail at once.
    func giveUpWaiting(of link: UInt64) async { await reader.giveUpWaiting(of: link) }

    package func send(_ arguments: [RedisArgument]) async throws(RedisError) -> RedisReply {
        try await send(arguments, from: 0)
    }

    func send(_ arguments: [RedisArgument], from link: UInt64) async throws(RedisError) -> RedisReply {
        let words = arguments.map(\.bytes)
        if KeyCommand(words)?.onlyReads ?? true {
            return try await perform(.command(words), reader.queue, link) { reader.wake() }
        }
        return try await perform(.command(words), writer.queue, link) { writer.wake() }
    }

    package func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(RedisError) -> RedisReply {
        let work = CommandQueue.Work.script(
            script, keys: keys.map { Array($0.utf8) }, arguments: arguments.map(\.bytes))
        return try await perform(work, writer.queue, 0) { writer.wake() }
    }

    private func perform(
        _ work: CommandQueue.Work, _ queue: CommandQueue, _ link: UInt64, wake: () -> Void
    ) async throws(RedisError) -> RedisReply {
        let result = await withCheckedContinuation { continuation in
            switch queue.add(CommandQueue.Waiter(work: work, link: link, reply: continuation)) {
            case .added(let wasEmpty): if wasEmpty { wake() }
            case .refused(let error): continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }
}

extension RedisArgument {
    var bytes: [UInt8] {
        switch self {
        case .text(let value): Array(value.utf8)
        case .bytes(let value): value
        }
    }
}
