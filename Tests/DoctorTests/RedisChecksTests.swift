import TestSupport
import Testing

/// Each wrong state of Redis is made for real.
@Suite struct RedisChecksTests {
    private func examinee(_ server: RedisServer, _ more: String = "") throws -> Examinee {
        // Nothing of the others is there, and nobody asks.
        try Examinee(#","redis":{"port":\#(server.port)\#(more)}"#)
    }

    @Test func aFreshRedisOfOurConfigurationIsFine() async throws {
        try await RedisServer.withOwn { server in
            let result = try await examinee(server).examine(
                "--skip", "rabbitmq", "--skip", "gateway", "--skip", "consumer")
            #expect(result.exitCode == 0, "\(result.output)")
            for name in ["redis", "redis role", "redis memory", "redis permissions", "clock, redis"] {
                #expect(result[name].status == "fine", "\(result[name])")
            }
            // How fast a busy machine is, nobody knows.
            #expect(["fine", "warning"].contains(result["redis latency"].status))
            #expect(result["redis persistence"].detail == "appendonly yes, appendfsync always")
            #expect(result["redis store"].detail == "empty; the first gateway or consumer founds it")
            // Looking has written nothing.
            #expect(try await server.cli("DBSIZE") == "0")
        }
    }

    @Test func settingsOfRedisThatLoseDataAreWrong() async throws {
        try await RedisServer.withOwn { server in
            let examinee = try examinee(server)
            try await server.cli("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
            try await server.cli("CONFIG", "SET", "appendfsync", "everysec")
            try await server.cli("SET", "hf:{p00}:layout", "1 128 abc")
            let everySecond = try await examinee.examine("--skip", "rabbitmq")
            #expect(everySecond.exitCode == 1)
            #expect(
                everySecond["redis persistence"].detail
                    == "appendfsync is everysec: what was applied in the last second is lost when its machine fails")
            #expect(
                everySecond["redis memory"].detail
                    == "maxmemory-policy is allkeys-lru: when it is full it forgets customers")
            #expect(
                everySecond["redis memory"].remedies == [
                    "redis-cli CONFIG SET maxmemory-policy noeviction; redis-cli CONFIG REWRITE"
                ])
            #expect(everySecond["redis store"].status == "wrong")
            #expect(everySecond["redis store"].detail.contains("says “1 128 abc”"))

            try await server.cli("CONFIG", "SET", "appendonly", "no")
            let never = try await examinee.examine("--skip", "rabbitmq")
            #expect(
                never["redis persistence"].detail == "appendonly is no: what was applied is lost when Redis ends")
        }
    }

    @Test func aFullRedisIsWrong() async throws {
        try await RedisServer.withOwn { server in
            try await server.cli("CONFIG", "SET", "maxmemory", "1mb")
            let result = try await examinee(server).examine("--skip", "rabbitmq")
            #expect(result["redis memory"].status == "wrong")
            #expect(result["redis memory"].detail.hasSuffix("(maxmemory) is used: it refuses writes"))
        }
    }

    @Test func aReplicaIsWrong() async throws {
        try await RedisServer.withOwn { server in
            try await server.cli("REPLICAOF", "127.0.0.1", "1")
            let result = try await examinee(server).examine("--skip", "rabbitmq")
            #expect(result["redis role"].status == "wrong")
            #expect(result["redis role"].detail == "it is a replica of 127.0.0.1:1 and takes no writes")
        }
    }

    @Test func whoMayNotEnterOrMayTooLittleIsToldSo() async throws {
        try await RedisServer.withOwn { server in
            try await server.cli(
                "ACL", "SETUSER", "little", "on", ">pw", "~hf:*", "+@read", "+@connection", "+eval", "+evalsha", "+set")
            let little = try await examinee(server, #","user":"little","password":"pw""#).examine("--skip", "rabbitmq")
            #expect(little["redis"].status == "fine")
            #expect(little["redis permissions"].status == "wrong")
            #expect(
                little["redis permissions"].detail
                    == "little may not send HSET, HDEL, HINCRBY, RPUSH, LTRIM, HSETNX, ZADD, ZREM, ZREMRANGEBYSCORE, ZREMRANGEBYRANK, XADD, PEXPIRE, DEL for hf:*"
            )
            #expect(little["redis memory"].status == "notChecked")

            // The remedy is meant to be pasted.
            let remedy = try #require(little["redis permissions"].remedies.first)
            let words = remedy.split(separator: " ").dropFirst().map { $0.filter { $0 != "'" } }
            let mended = try await Command.run("/usr/bin/redis-cli", ["-p", "\(server.port)"] + words)
            #expect(mended.output.contains("OK"))
            let enough = try await examinee(server, #","user":"little","password":"pw""#).examine("--skip", "rabbitmq")
            #expect(enough["redis permissions"].status == "fine", "\(enough["redis permissions"])")
            #expect(enough["redis memory"].status == "fine")

            let wrong = try await examinee(server, #","user":"little","password":"no""#).examine("--skip", "rabbitmq")
            #expect(wrong["redis"].detail.hasSuffix("does not take the user little with this password"))
            #expect(wrong.exitCode == 1)

            try await server.cli("CONFIG", "SET", "requirepass", "x")
            let none = try await examinee(server).examine("--skip", "rabbitmq")
            #expect(none["redis"].detail.hasSuffix("wants a password, and there is none in the settings"))
            #expect(none["redis role"].detail == "Redis cannot be asked")
        }
    }

    @Test func aRedisThatIsGoneIsUnreachableAndThatHangsToo() async throws {
        try await RedisServer.withOwn { server in
            let examinee = try examinee(server, #","connectTimeout":"300ms""#)
            try server.pause()
            let hanging = try await examinee.examine("--skip", "rabbitmq")
            try server.resume()
            #expect(hanging.exitCode == 3)
            #expect(hanging["redis"].status == "unreachable")
            #expect(hanging["redis"].detail.contains("does not answer: connecting took too long"))
            try await server.kill()
            let gone = try await examinee.examine("--skip", "rabbitmq")
            #expect(gone.exitCode == 3)
            #expect(gone["redis"].detail.contains("127.0.0.1:\(server.port) does not answer: Connection refused"))
            #expect(gone["redis memory"].status == "notChecked")
        }
    }
}
