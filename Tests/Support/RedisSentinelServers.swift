/// A master, its replica and three sentinels that look after them, of a test's own.
package struct RedisSentinelServers: Sendable {
    package let first: RedisServer
    package let second: RedisServer
    package let sentinels: [RedisServer]
    /// What the sentinels call the master.
    package static let masterName = "holdfast-test"

    /// - Parameter password: Of the sentinels.
    package static func withOwn<Value>(
        password: String? = nil, _ body: (RedisSentinelServers) async throws -> Value
    ) async throws -> Value {
        try await RedisServer.withOwn { first in
            try await RedisServer.withOwn(["--", "--replicaof", "127.0.0.1 \(first.port)"]) { second in
                try await RedisServer.withOwn(["--sentinel"]) { a in
                    try await RedisServer.withOwn(["--sentinel"]) { b in
                        try await RedisServer.withOwn(["--sentinel"]) { c in
                            let servers = RedisSentinelServers(first: first, second: second, sentinels: [a, b, c])
                            for sentinel in servers.sentinels { try await servers.prepare(sentinel) }
                            try await servers.waitUntilTheyKnowEachOther()
                            if let password {
                                for sentinel in servers.sentinels {
                                    try await sentinel.cli("ACL", "SETUSER", "default", "resetpass", ">\(password)")
                                }
                            }
                            return try await body(servers)
                        }
                    }
                }
            }
        }
    }

    private func prepare(_ sentinel: RedisServer) async throws {
        try await sentinel.cli("SENTINEL", "MONITOR", Self.masterName, "127.0.0.1", "\(first.port)", "2")
        for (option, value) in [("down-after-milliseconds", "3000"), ("failover-timeout", "10000")] {
            try await sentinel.cli("SENTINEL", "SET", Self.masterName, option, value)
        }
    }

    private func waitUntilTheyKnowEachOther() async throws {
        for sentinel in sentinels {
            let isReady = try await eventually {
                let text = try await sentinel.cli("SENTINEL", "MASTER", Self.masterName)
                let fields = text.split(whereSeparator: \.isNewline)
                func value(_ name: String) -> Substring? {
                    fields.firstIndex { $0 == name }.flatMap { fields.indices.contains($0 + 1) ? fields[$0 + 1] : nil }
                }
                return value("num-slaves") == "1" && value("num-other-sentinels") == "2"
            }
            guard isReady else { throw CommandError("the sentinels do not find each other") }
        }
        let follows = try await eventually {
            let info = try await second.cli("INFO", "replication")
            return info.contains("master_link_status:up")
        }
        guard follows else { throw CommandError("the replica does not follow") }
    }
}
