package import Runtime

/// The way to where the keys are, be that one server or many: it connects by itself and goes on trying.
///
/// While there is no connection a command fails at once: who wants to wait says so with `waitUntilConnected`.
package protocol RedisLink: RedisCommands, Service {
    /// Whether commands can be sent right now; from any thread, without waiting.
    var isConnected: Bool { get }
    /// How long a command waits for its reply when nothing else is said.
    var commandTimeout: Duration { get }

    /// Returns once the first attempt to connect has ended, well or not.
    func start() async
    /// Waits for a connection, `patience` at most; returns whether there is one.
    func waitUntilConnected(within patience: Duration) async -> Bool
    /// The same as `send`, with a patience of its own; nil is `commandTimeout`.
    func send(_ arguments: [RedisArgument], timeout: Duration?) async throws(RedisError) -> RedisReply
    /// Disconnects now; commands in flight fail.
    func close() async
}

extension RedisLink {
    package func send(_ arguments: [RedisArgument]) async throws(RedisError) -> RedisReply {
        try await send(arguments, timeout: nil)
    }
}
