/// Goes through the keys of all servers, without stopping them for it (SCAN).
///
/// What is there from beginning to end comes at least once; what comes or goes meanwhile may or may not.
///
/// A key may move to another server meanwhile, from one that is still to come to one that has been. So when anything
/// moved, all are gone over once more: a key that moves once is found by one of the two walks. A server that began anew
/// walks in another order, so its part is begun anew.
package struct KeyScan: Sendable {
    private let redis: any RedisCommands
    private let arguments: [RedisArgument]
    private var walk: Walk?
    private var isSecond = false
    private var isOver = false

    /// One way over all servers.
    private struct Walk {
        let servers: [any RedisCommands]
        /// The link's `connections` before.
        let connections: Int
        var part = 0
        var cursor = "0"
        /// The server's own `connections` when its part was begun.
        var began = 0
        var attempts = 0
    }

    private static let mostAttempts = 5

    /// - Parameter count: How many keys a server looks at for one reply; fewer may match.
    package init(redis: any RedisCommands, matching pattern: String, count: Int = 500) {
        self.redis = redis
        arguments = ["MATCH", .text(pattern), "COUNT", RedisArgument(count)]
    }

    /// The next keys, possibly none; nil at the end.
    package mutating func next() async throws(RedisError) -> [String]? {
        guard !isOver else { return nil }
        var walk: Walk
        if let before = self.walk { walk = before } else { walk = try await begin() }
        guard walk.part < walk.servers.count else { return try await end(walk) }
        let server = walk.servers[walk.part]
        if walk.cursor == "0" { walk.began = server.connections }
        let reply = try await server.send(["SCAN", .text(walk.cursor)] + arguments)
        guard let fields = reply.array, fields.count == 2, let next = fields[0].string, let keys = fields[1].array
        else { throw RedisError(.unexpectedReply, "SCAN") }
        walk.cursor = next
        if server.connections != walk.began {
            walk.attempts += 1
            guard walk.attempts < Self.mostAttempts else {
                throw RedisError(.unreachable, "the connection broke \(walk.attempts) times during one scan")
            }
            walk.cursor = "0"
        } else if next == "0" {
            walk.part += 1
        }
        self.walk = walk
        return keys.compactMap(\.string)
    }

    private func begin() async throws(RedisError) -> Walk {
        let servers = try await redis.parts()
        // Only after that: asking for the parts counts what is moving.
        return Walk(servers: servers, connections: redis.connections)
    }

    private mutating func end(_ walk: Walk) async throws(RedisError) -> [String]? {
        if walk.servers.count > 1, !isSecond {
            let again = try await begin()
            if again.connections != walk.connections {
                isSecond = true
                self.walk = again
                return []
            }
        }
        isOver = true
        return nil
    }
}
