internal import Runtime

/// The master that sentinels name, as a link: asked for before each attempt to connect and every now and then, so that a
/// master which was cut off and goes on as if nothing had happened is left as well.
///
/// Whoever is named must say itself that it is a master (ROLE): for a moment sentinels name one that is not yet, or no
/// longer.
package actor RedisSentinel: RedisLink {
    private let client: RedisClient
    private let advice: SentinelAdvice
    private let every: Duration
    private let loop: EventLoop
    private var watch: Task<Void, Never>?

    package nonisolated let name: String
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    package nonisolated var isConnected: Bool { client.isConnected }
    package nonisolated var connections: Int { client.connections }
    package nonisolated var commandTimeout: Duration { client.commandTimeout }

    init(name: String, settings: RedisSettings, loop: EventLoop, metrics: Metrics, log: Log) {
        self.name = name
        self.loop = loop
        every = settings.topologyEvery
        let advice = SentinelAdvice(name: name, settings: settings, loop: loop, metrics: metrics, log: log)
        self.advice = advice
        client = RedisClient(
            name: name, settings: settings,
            route: RedisRoute(wantsMaster: true) { () async throws(RedisError) in try await advice.master() },
            loop: loop, metrics: metrics, log: log)
    }

    package nonisolated func send(
        _ arguments: [RedisArgument], timeout: Duration?
    ) async throws(RedisError) -> RedisReply { try await client.send(arguments, timeout: timeout) }

    package nonisolated func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(RedisError) -> RedisReply {
        try await client.evaluate(script, keys: keys, arguments: arguments)
    }

    package nonisolated func waitUntilConnected(within patience: Duration) async -> Bool {
        await client.waitUntilConnected(within: patience)
    }

    package func start() async {
        guard watch == nil else { return }
        watch = Task(name: "redis-sentinel") { await follow() }
        await client.start()
    }

    private func follow() async {
        while !Task.isCancelled {
            // Cancelled means closing.
            do { try await Task.sleep(for: every) } catch { return }
            guard client.isConnected else { continue }
            // Without an answer the master that is there stays.
            if let master = try? await advice.master() { await client.move(to: master) }
        }
    }

    package func drain() async {
        watch?.cancel()
        await client.drain()
        await advice.close()
    }

    package func close() async {
        watch?.cancel()
        await client.close()
        await advice.close()
    }
}
