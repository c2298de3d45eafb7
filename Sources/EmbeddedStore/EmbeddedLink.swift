package import Redis
internal import Runtime
internal import Synchronization

/// One user's way to an embedded store, as if it were a connection of its own.
package final class EmbeddedLink: RedisLink {
    package let name: String
    private let store: EmbeddedRedis
    private let number: UInt64
    private let isClosed = Atomic(false)
    /// Whether the store is opened and closed with this link.
    private let ownsStore: Bool
    private let failure = Mutex<RedisError?>(nil)

    /// A store that several links share is started and drained by whoever made it.
    package init(name: String, store: EmbeddedRedis, ownsStore: Bool = false) {
        self.name = name
        self.store = store
        self.ownsStore = ownsStore
        number = store.newLinkNumber()
    }

    package var isConnected: Bool { store.isOpen && !isClosed.load(ordering: .acquiring) }
    package var commandTimeout: Duration { .seconds(10) }
    /// It is always the same file.
    package var connections: Int { 1 }

    package func start() async {
        guard ownsStore else { return }
        do { try await store.start() } catch {
            failure.withLock { $0 = RedisError(.unreachable, "\(error)") }
        }
    }

    package func waitUntilConnected(within patience: Duration) async -> Bool {
        if isConnected || isClosed.load(ordering: .acquiring) { return isConnected }
        // The store opens or has failed to; whoever waits asks again.
        try? await Task.sleep(for: min(patience, .milliseconds(50)))
        return isConnected
    }

    package func send(_ arguments: [RedisArgument], timeout: Duration?) async throws(RedisError) -> RedisReply {
        try check()
        return try await store.send(arguments, from: number)
    }

    package func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(RedisError) -> RedisReply {
        try check()
        return try await store.evaluate(script, keys: keys, arguments: arguments)
    }

    private func check() throws(RedisError) {
        if let failure = failure.withLock({ $0 }) { throw failure }
        if isClosed.load(ordering: .acquiring) { throw RedisError(.closed) }
    }

    package func drain() async { await close() }

    package func close() async {
        isClosed.store(true, ordering: .releasing)
        if ownsStore { return await store.drain() }
        await store.giveUpWaiting(of: number)
    }
}

extension EmbeddedRedis {
    /// Links to this store.
    package var connector: RedisConnector { RedisConnector { name in EmbeddedLink(name: name, store: self) } }
}
