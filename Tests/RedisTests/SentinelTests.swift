import Runtime
import TestSupport
import Testing

@testable import Redis

/// Against real sentinels that look after a real master and its replica.
@Suite(.timeLimit(.minutes(10))) struct SentinelTests {
    private func withLink<Value>(
        _ servers: RedisSentinelServers, _ adjust: (inout RedisSettings) -> Void = { _ in },
        _ body: (any RedisLink) async throws -> Value
    ) async throws -> Value {
        var settings = RedisSettings()
        settings.mode = .sentinel
        settings.masterName = RedisSentinelServers.masterName
        settings.addresses = servers.sentinels.map { RedisAddress(host: $0.host, port: $0.port) }
        settings.reconnectDelay = .milliseconds(200)
        settings.topologyEvery = .milliseconds(200)
        settings.commandTimeout = .seconds(20)
        adjust(&settings)
        let loop = try EventLoop(name: "sentinel-test")
        let link = settings.connector(loop: loop).link("test")
        await link.start()
        let result: Result<Value, any Error>
        do { result = .success(try await body(link)) } catch { result = .failure(error) }
        await link.close()
        loop.stop()
        return try result.get()
    }

    private func port(_ link: any RedisLink) async throws -> String? {
        try await link.send(["CONFIG", "GET", "port"]).array?.last?.string
    }

    @Test func theMasterIsFoundAndAfterAFailoverTheNextOne() async throws {
        try await RedisSentinelServers.withOwn { servers in
            try await withLink(servers) { link in
                check(await link.waitUntilConnected(within: .seconds(60)))
                let first = try await port(link)
                #expect(first == "\(servers.first.port)")
                _ = try await link.send(["SET", "a", "1"])
                try await servers.first.cli("WAIT", "1", "20000")
                let before = link.connections
                try await servers.first.kill()
                check(try await eventually { !link.isConnected })
                check(
                    try await eventually {
                        guard await link.waitUntilConnected(within: .seconds(1)) else { return false }
                        return try await port(link) == "\(servers.second.port)"
                    })
                #expect(link.connections > before)
                let value = try await link.send(["GET", "a"])
                #expect(value.string == "1")
                _ = try await link.send(["SET", "a", "2"])

                // The old master comes back believing that it is one, until the sentinels tell it; nobody writes there.
                try await servers.first.start()
                check(
                    try await eventually {
                        let role = try await servers.first.cli("ROLE")
                        return role.hasPrefix("slave")
                    })
                _ = try await link.send(["SET", "a", "3"])
                let now = try await port(link)
                #expect(now == "\(servers.second.port)")
            }
        }
    }

    @Test func aMasterThatIsMadeAReplicaIsLeftAtOnce() async throws {
        try await RedisSentinelServers.withOwn { servers in
            try await withLink(servers) { link in
                check(await link.waitUntilConnected(within: .seconds(60)))
                // An orderly failover: the old master lives on as a replica and refuses writes.
                try await servers.sentinels[0].cli("SENTINEL", "FAILOVER", RedisSentinelServers.masterName)
                check(
                    try await eventually {
                        guard link.isConnected else { return false }
                        _ = try await link.send(["SET", "b", "1"])
                        return try await port(link) == "\(servers.second.port)"
                    })
            }
        }
    }

    @Test func sentinelsWithAPasswordAreAskedWithIt() async throws {
        try await RedisSentinelServers.withOwn(password: "sentinels-own") { servers in
            try await withLink(servers, { $0.connectTimeout = .seconds(10) }) { link in
                #expect(!link.isConnected)
                do throws(RedisError) {
                    _ = try await link.send(["PING"])
                    Issue.record("it was answered")
                } catch { #expect(error.message.contains("NOAUTH")) }
            }
            try await withLink(servers, { $0.sentinelPassword = Secret("sentinels-own") }) { link in
                check(await link.waitUntilConnected(within: .seconds(60)))
            }
            try await withLink(
                servers,
                {
                    $0.sentinelPassword = Secret("sentinels-own")
                    $0.masterName = "another"
                }
            ) { link in
                do throws(RedisError) {
                    _ = try await link.send(["PING"])
                    Issue.record("it was answered")
                } catch { #expect(error.message.contains("No such master")) }
            }
        }
    }
}
