import Runtime
import TestSupport
import Testing

@testable import Redis

/// Against a real cluster of three nodes, at which nothing is done but reading and writing.
@Suite(.timeLimit(.minutes(6))) struct RedisClusterTests {
    @Test func keysOfAllPartitionsAreWrittenAndReadThroughOneLink() async throws {
        let name = uniqueName("keys")
        try await withCluster(try await .shared()) { cluster in
            for tag in tags { _ = try await cluster.send(["SET", "\(tag):\(name)", .text(tag)]) }
            for tag in tags {
                let read = try await cluster.send(["GET", "\(tag):\(name)"])
                #expect(read.string == tag)
            }
            // They do lie on all three.
            var counts: [Int] = []
            for part in try await cluster.parts() {
                let keys = try await part.send(["KEYS", "*:\(name)"])
                counts.append(keys.array?.count ?? 0)
            }
            #expect(counts.count == 3)
            #expect(counts.reduce(0, +) == tags.count)
            check(counts.allSatisfy { $0 > 0 })
        }
    }

    @Test func aScriptIsSentInFullToEachNodeThatDoesNotKnowIt() async throws {
        let name = uniqueName("script")
        let script = RedisScript("redis.call('SET', KEYS[1], ARGV[1] .. '\(name)') return redis.call('GET', KEYS[1])")
        try await withCluster(try await .shared()) { cluster in
            for tag in tags {
                let reply = try await cluster.evaluate(script, keys: ["\(tag):\(name)"], arguments: [.text(tag)])
                #expect(reply.string == tag + name)
            }
        }
    }

    @Test func aScanGoesOverTheKeysOfAllNodes() async throws {
        let name = uniqueName("scan")
        try await withCluster(try await .shared()) { cluster in
            for tag in tags { _ = try await cluster.send(["SET", "\(tag):\(name)", "1"]) }
            var scan = KeyScan(redis: cluster, matching: "*:\(name)", count: 10)
            var found: Set<String> = []
            while let keys = try await scan.next() { found.formUnion(keys) }
            let all = Set(tags.map { "\($0):\(name)" })
            #expect(found == all)
        }
    }

    @Test func whatOneNodeCannotAnswerForAllIsRefused() async throws {
        try await withCluster(try await .shared()) { cluster in
            for command: [RedisArgument] in [["SCAN", "0"], ["DBSIZE"], ["KEYS", "*"]] {
                let failure = await redisFailure { _ = try await cluster.send(command) }
                #expect(failure == .refused)
            }
            let crossing = await redisFailure {
                _ = try await cluster.send(["MGET", "{p00}:a", "{p01}:a", "{p02}:a", "{p03}:a", "{p04}:a"])
            }
            #expect(crossing == .refused)
            #expect(!cluster.takesManySlots)
        }
    }

    @Test func aWriteWaitsForReplicasThatThereAreNot() async throws {
        let name = uniqueName("replicas")
        let script = RedisScript("redis.call('SET', KEYS[1], '\(name)') return 1")
        try await withCluster(
            try await .shared(),
            {
                $0.replicas = 1; $0.commandTimeout = .seconds(10)
            }
        ) { cluster in
            let failure = await redisFailure {
                _ = try await cluster.evaluate(script, keys: ["{p00}:\(name)"], arguments: [])
            }
            #expect(failure == .unreachable)
            // It was carried out all the same, which is why the failure says that nobody knows.
            let stored = try await cluster.send(["GET", "{p00}:\(name)"])
            #expect(stored.string == name)
        }
    }
}
