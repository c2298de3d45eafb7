import Runtime
import Synchronization
import TestSupport
import Testing

@testable import Redis

/// A cluster whose slots move and whose nodes die.
@Suite(.timeLimit(.minutes(10))) struct ClusterChangeTests {
    /// Counts up every partition's number; what was answered is what must be there in the end.
    private static let count = RedisScript("return redis.call('INCR', KEYS[1])")

    /// Moves a slot with its keys, as redis-cli --cluster reshard does; `meanwhile` happens when half of the keys are there.
    private func move(
        _ slot: Int, from source: RedisServer, to target: RedisServer, _ servers: RedisClusterServers,
        _ keys: [String], meanwhile: () async throws -> Void
    ) async throws {
        let (sourceID, targetID) = (try await servers.id(of: source), try await servers.id(of: target))
        try await target.cli("CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", sourceID)
        try await source.cli("CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", targetID)
        for (index, key) in keys.enumerated() {
            if index == keys.count / 2 { try await meanwhile() }
            try await source.cli("MIGRATE", "127.0.0.1", "\(target.port)", key, "0", "5000")
        }
        for node in [target, source] { try await node.cli("CLUSTER", "SETSLOT", "\(slot)", "NODE", targetID) }
    }

    @Test func aSlotThatMovesLosesAndDoublesNothing() async throws {
        try await RedisClusterServers.withOwn { servers in
            try await withCluster(servers) { cluster in
                let tag = "{p07}"
                let slot = HashSlot.of(Array(tag.utf8))
                let keys = (0..<6).map { "\(tag):\($0)" }
                for key in keys { _ = try await cluster.evaluate(Self.count, keys: [key], arguments: []) }
                let source = try await servers.master(of: keys[0])
                let others = servers.nodes.filter { $0.port != source.port }
                let target = try #require(others.first)
                let before = cluster.connections
                try await move(slot, from: source, to: target, servers, keys) {
                    // Some are here and some there; a new one begins at the target.
                    for key in keys + ["\(tag):new"] {
                        _ = try await cluster.evaluate(Self.count, keys: [key], arguments: [])
                    }
                    // A scan finds each, whichever way it goes, and takes note that keys are moving.
                    var scan = KeyScan(redis: cluster, matching: "\(tag):*")
                    var found: Set<String> = []
                    while let some = try await scan.next() { found.formUnion(some) }
                    check(found == Set(keys + ["\(tag):new"]))
                    check(cluster.connections > before)
                }
                for key in keys {
                    let value = try await cluster.evaluate(Self.count, keys: [key], arguments: [])
                    #expect(value == .integer(3))
                }
                let fresh = try await cluster.send(["GET", "\(tag):new"])
                #expect(fresh.string == "1")
                let owner = try await servers.master(of: keys[0])
                #expect(owner.port == target.port)
            }
        }
    }

    @Test func whenAMasterDiesItsReplicaTakesOverAndTheLinkFindsIt() async throws {
        try await RedisClusterServers.withOwn(replicas: 1) { servers in
            try await withCluster(servers) { cluster in
                for tag in tags { _ = try await cluster.evaluate(Self.count, keys: ["\(tag):n"], arguments: []) }
                // All of it is on the replicas, too.
                for node in servers.nodes {
                    let role = try await node.cli("ROLE")
                    if role.hasPrefix("master") { try await node.cli("WAIT", "1", "20000") }
                }
                let before = cluster.connections
                let victim = try await servers.master(of: "{p00}:n")
                try await victim.kill()
                // A command fails instead of waiting for ever; what it was to do is known not to have been done, or not known.
                check(try await eventually { !cluster.isConnected })
                check(await cluster.waitUntilConnected(within: .seconds(60)))
                #expect(cluster.connections > before)
                for tag in tags {
                    let value = try await cluster.evaluate(Self.count, keys: ["\(tag):n"], arguments: [])
                    #expect(value == .integer(2))
                }
                // The one that died comes back as a replica, and the link goes on.
                try await victim.start()
                check(
                    try await eventually {
                        let role = try await victim.cli("ROLE")
                        return role.hasPrefix("slave")
                    })
                check(await cluster.waitUntilConnected(within: .seconds(60)))
                for tag in tags {
                    let value = try await cluster.evaluate(Self.count, keys: ["\(tag):n"], arguments: [])
                    #expect(value == .integer(3))
                }
            }
        }
    }

    @Test func aClusterThatLacksANodeIsNotConnectedUntilItIsBack() async throws {
        try await RedisClusterServers.withOwn { servers in
            try await withCluster(servers) { cluster in
                for tag in tags { _ = try await cluster.evaluate(Self.count, keys: ["\(tag):n"], arguments: []) }
                let victim = try await servers.master(of: "{p00}:n")
                try await victim.kill()
                check(try await eventually { !cluster.isConnected })
                let failure = await redisFailure { _ = try await cluster.send(["GET", "{p00}:n"]) }
                #expect(failure == .unreachable)
                let parts = await redisFailure { _ = try await cluster.parts() }
                #expect(parts == .unreachable)
                let connections = cluster.connections
                try await victim.start()
                check(await cluster.waitUntilConnected(within: .seconds(60)))
                #expect(cluster.connections > connections)
                let value = try await cluster.send(["GET", "{p00}:n"])
                #expect(value.string == "1")
            }
        }
    }

    @Test func aLinkThatIsClosedSaysSo() async throws {
        let servers = try await RedisClusterServers.shared()
        try await withCluster(servers) { cluster in
            await cluster.close()
            let failure = await redisFailure { _ = try await cluster.send(["GET", "a"]) }
            #expect(failure == .closed)
            #expect(!cluster.isConnected)
            check(await !cluster.waitUntilConnected(within: .seconds(60)))
        }
    }

    @Test func whereThereIsNoClusterTheLinkSaysWhy() async throws {
        var settings = RedisSettings()
        settings.mode = .cluster
        settings.port = try await RedisServer.shared().port
        let loop = try EventLoop(name: "no-cluster")
        let link = settings.connector(loop: loop).link("none")
        await link.start()
        #expect(!link.isConnected)
        do throws(RedisError) {
            _ = try await link.send(["GET", "a"])
            Issue.record("it was answered")
        } catch {
            #expect(error.code == .unreachable)
            #expect(error.message.contains("cluster support disabled"))
        }
        await link.drain()
        loop.stop()
    }
}
