import TestSupport
import Testing

/// The doctor at a Redis Cluster and behind sentinels, both real.
@Suite(.timeLimit(.minutes(10))) struct RedisTopologyTests {
    private func list(_ servers: [RedisServer]) -> String {
        servers.map { #""127.0.0.1:\#($0.port)""# }.joined(separator: ",")
    }

    @Test func aClusterIsExaminedNodeByNode() async throws {
        try await RedisClusterServers.withOwn { servers in
            let cluster = #","redis":{"mode":"cluster","addresses":[\#(list(servers.nodes))]}"#
            let examinee = try Examinee(cluster)
            let fine = try await examinee.examine("--skip", "rabbitmq")
            #expect(fine["redis"].status == "fine", "\(fine["redis"])")
            #expect(fine["redis"].detail.contains("3 masters"))
            for name in ["redis memory", "redis persistence", "redis permissions"] {
                #expect(fine[name].status == "fine", "\(fine[name])")
            }
            // There are no replicas.
            #expect(fine["redis role"].status == "warning")

            try await servers.nodes[1].cli("CONFIG", "SET", "appendfsync", "no")
            let lazy = try await examinee.examine("--skip", "rabbitmq")
            #expect(lazy["redis persistence"].status == "wrong")
            #expect(lazy["redis persistence"].detail.hasPrefix("127.0.0.1:\(servers.nodes[1].port): appendfsync is no"))

            // A node, taken for the only server.
            let single = try await Examinee(#","redis":{"port":\#(servers.nodes[0].port)}"#)
                .examine("--skip", "rabbitmq")
            #expect(single["redis role"].status == "wrong")
            #expect(single["redis role"].remedies.first?.contains("redis.mode") == true)

            try await servers.nodes[2].kill()
            let torn = try await examinee.examine("--skip", "rabbitmq")
            #expect(torn["redis"].status == "unreachable", "\(torn["redis"])")
            #expect(torn["redis"].detail.contains("127.0.0.1:\(servers.nodes[2].port)"))
        }
    }

    @Test func behindSentinelsTheMasterAndItsReplicaAreExamined() async throws {
        try await RedisSentinelServers.withOwn { servers in
            let settings = #"""
                ,"redis":{"mode":"sentinel","masterName":"\#(RedisSentinelServers.masterName)",
                "addresses":[\#(list(servers.sentinels))]}
                """#
            let fine = try await Examinee(settings).examine("--skip", "rabbitmq")
            #expect(fine["redis"].status == "fine", "\(fine["redis"])")
            #expect(fine["redis role"].status == "fine", "\(fine["redis role"])")
            #expect(fine["redis persistence"].status == "fine", "\(fine["redis persistence"])")
            try await servers.second.cli("CONFIG", "SET", "appendonly", "no")
            let replica = try await Examinee(settings).examine("--skip", "rabbitmq")
            #expect(replica["redis persistence"].status == "wrong")
            #expect(
                replica["redis persistence"].detail.hasPrefix(
                    "replica 127.0.0.1:\(servers.second.port): appendonly is no"))
        }
    }
}
