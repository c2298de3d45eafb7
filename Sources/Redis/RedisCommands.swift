/// What a store needs of Redis: one command and its reply, one script and its reply.
package protocol RedisCommands: Sendable {
    func send(_ arguments: [RedisArgument]) async throws(RedisError) -> RedisReply
    func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(RedisError) -> RedisReply
}

extension RedisClient: RedisCommands {
    package func send(_ arguments: [RedisArgument]) async throws(RedisError) -> RedisReply {
        try await send(arguments, timeout: nil)
    }
}
