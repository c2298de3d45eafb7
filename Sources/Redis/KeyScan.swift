/// Goes through the keys of all servers, without stopping them for it (SCAN).
///
/// What is there from beginning to end comes at least once; what comes or goes meanwhile may or may not.
package struct KeyScan: Sendable {
    private let redis: any RedisCommands
    private let arguments: [RedisArgument]
    private var parts: [any RedisCommands]?
    private var part = 0
    private var cursor = "0"

    /// - Parameter count: How many keys a server looks at for one reply; fewer may match.
    package init(redis: any RedisCommands, matching pattern: String, count: Int = 500) {
        self.redis = redis
        arguments = ["MATCH", .text(pattern), "COUNT", RedisArgument(count)]
    }

    /// The next keys, possibly none; nil at the end.
    package mutating func next() async throws(RedisError) -> [String]? {
        let servers: [any RedisCommands]
        if let parts { servers = parts } else { servers = try await redis.parts() }
        parts = servers
        guard part < servers.count else { return nil }
        let reply = try await servers[part].send(["SCAN", .text(cursor)] + arguments)
        guard let fields = reply.array, fields.count == 2, let next = fields[0].string, let keys = fields[1].array
        else { throw RedisError(.unexpectedReply, "SCAN") }
        cursor = next
        if next == "0" { part += 1 }
        return keys.compactMap(\.string)
    }
}
