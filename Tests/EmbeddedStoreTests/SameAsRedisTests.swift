import EmbeddedStore
import Redis
import Runtime
import TestSupport
import Testing

/// The embedded store answers as a real Redis does: every command is sent to both.
@Suite(.timeLimit(.minutes(6))) struct SameAsRedisTests {
    /// What both answer; what differs is an issue.
    private struct Both {
        let redis: RedisClient
        let store: EmbeddedRedis

        private static func answer(
            _ body: () async throws(RedisError) -> RedisReply
        ) async -> Result<RedisReply, RedisError> {
            do throws(RedisError) { return .success(try await body()) } catch { return .failure(error) }
        }

        func send(_ words: [String]) async {
            let arguments = words.map { RedisArgument($0) }
            let theirs = await Self.answer { () async throws(RedisError) in
                try await redis.send(arguments, timeout: .seconds(60))
            }
            let ours = await Self.answer { () async throws(RedisError) in try await store.send(arguments) }
            check(
                Self.same(theirs, ours, unordered: ["HGETALL", "HKEYS", "KEYS"].contains(words[0].uppercased())),
                "\(words): Redis \(theirs), embedded \(ours)")
        }

        func evaluate(_ source: String, _ keys: [String], _ arguments: [String]) async {
            let script = RedisScript(source)
            let rest = arguments.map { RedisArgument($0) }
            let theirs = await Self.answer { () async throws(RedisError) in
                try await redis.evaluate(script, keys: keys, arguments: rest)
            }
            let ours = await Self.answer { () async throws(RedisError) in
                try await store.evaluate(script, keys: keys, arguments: rest)
            }
            check(Self.same(theirs, ours, inScript: true), "\(source): Redis \(theirs), embedded \(ours)")
        }

        private static func same(
            _ theirs: Result<RedisReply, RedisError>, _ ours: Result<RedisReply, RedisError>, unordered: Bool = false,
            inScript: Bool = false
        ) -> Bool {
            switch (theirs, ours) {
            case (.success(.array(let a)), .success(.array(let b))) where unordered:
                a.count == b.count && Set(a) == Set(b)
            case (.success(let a), .success(let b)): a == b
            // In a script Redis adds where it happened.
            case (.failure(let a), .failure(let b)):
                a.code == b.code && (inScript ? a.message.hasPrefix(b.message.prefix(20)) : a.message == b.message)
            default: false
            }
        }
    }

    private func withBoth(_ body: (Both) async throws -> Void) async throws {
        let server = try await RedisServer.shared()
        var settings = RedisSettings()
        settings.port = server.port
        let loop = try EventLoop(name: "both")
        let client = RedisClient(name: "test", settings: settings, loop: loop)
        await client.start()
        let result: Result<Void, any Error>
        do {
            result = .success(try await withStore { try await body(Both(redis: client, store: $0)) })
        } catch { result = .failure(error) }
        await client.close()
        loop.stop()
        try result.get()
    }

    @Test func everyCommandAnswersAsRedisDoes() async throws {
        let k = RedisServer.uniqueApp("same")
        let lines = """
            PING
            GET K:s
            SET K:s one
            SET K:s two NX
            SET K:s two NX GET
            SET K:new first NX GET
            SET K:s three XX
            SET K:none three XX
            SET K:s four PX 600000 GET
            GET K:s
            SET K:s four PX 0
            SET K:s four PX x
            SET K:s four NX XX
            SET K:s four WHATEVER
            TYPE K:s
            TYPE K:none
            EXISTS K:s K:none K:s
            PTTL K:none
            PTTL K:new
            PEXPIRE K:none 1000
            PEXPIRE K:new -1
            GET K:new
            HGET K:h a
            HSET K:h a 1 b 2 a 3
            HSET K:h a 4 c 5
            HSET K:h a
            HGET K:h a
            HGET K:h none
            HMGET K:h a none b
            HMGET K:none a b
            HGETALL K:h
            HGETALL K:none
            HKEYS K:h
            HLEN K:h
            HEXISTS K:h a
            HEXISTS K:h none
            HINCRBY K:h a 38
            HINCRBY K:h n -1
            HINCRBY K:h a 9223372036854775807
            HINCRBY K:h a x
            HSET K:h t text
            HINCRBY K:h t 1
            HDEL K:h a b c n t none
            EXISTS K:h
            HDEL K:h a
            HGET K:s a
            GET K:list
            RPUSH K:list a b c d e
            LLEN K:list
            LRANGE K:list 0 -1
            LRANGE K:list -2 -1
            LRANGE K:list -100 1
            LRANGE K:list 3 100
            LRANGE K:list 4 2
            LRANGE K:list a 2
            LTRIM K:list -3 -1
            LRANGE K:list 0 -1
            RPUSH K:list f
            LRANGE K:list 0 -1
            LTRIM K:list 5 10
            EXISTS K:list
            RPUSH K:s a
            LRANGE K:none 0 -1
            ZADD K:z 1 a 2.5 b 2.5 c
            ZADD K:z NX 9 a 9 d
            ZADD K:z XX 3 a 3 none
            ZADD K:z x a
            ZADD K:z 1
            ZCARD K:z
            ZSCORE K:z b
            ZSCORE K:z none
            ZRANGE K:z 0 -1
            ZRANGE K:z 0 1 WITHSCORES
            ZRANGEBYSCORE K:z -inf +inf
            ZRANGEBYSCORE K:z 2.5 (3 WITHSCORES
            ZRANGEBYSCORE K:z (2.5 +inf WITHSCORES LIMIT 1 1
            ZRANGEBYSCORE K:z 0 10 LIMIT 0 2
            ZRANGEBYSCORE K:z a b
            ZCOUNT K:z -inf +inf
            ZCOUNT K:z (2.5 3
            ZCOUNT K:z a 3
            ZCOUNT K:none 0 1
            ZADD K:lt LT 5 a
            ZADD K:lt LT 6 a 4 b
            ZADD K:lt LT XX 3 a 2 c
            ZADD K:lt LT 3 a
            ZRANGE K:lt 0 -1 WITHSCORES
            ZADD K:y 1 a 2 b 3 c 4 d 5 e 6 f
            ZREMRANGEBYSCORE K:y (1 2
            ZREMRANGEBYSCORE K:y -inf (1
            ZREMRANGEBYSCORE K:y a 2
            ZREMRANGEBYRANK K:y 0 1
            ZREMRANGEBYRANK K:y -1 -1
            ZREMRANGEBYRANK K:y 5 9
            ZREMRANGEBYRANK K:y x 9
            ZRANGE K:y 0 -1 WITHSCORES
            ZREMRANGEBYRANK K:y 0 -1
            EXISTS K:y
            HSETNX K:nx a 1
            HSETNX K:nx a 2
            HSETNX K:nx b 3
            HSETNX K:s a 1
            HGETALL K:nx
            ZREM K:z a none
            ZREM K:z b c d
            EXISTS K:z
            ZADD K:s 1 a
            XADD K:x 5-1 k v
            XADD K:x 5-1 k v
            XADD K:x 5-2 k v r 2
            XADD K:x 4-9 k v
            XADD K:x 6 k
            XADD K:x abc k v
            XADD K:x MAXLEN = 2 7-0 k v
            XLEN K:x
            XRANGE K:x - +
            XRANGE K:x 5-2 6
            XRANGE K:x - + COUNT 1
            XREAD COUNT 10 STREAMS K:x 0
            XREAD COUNT 1 STREAMS K:x K:none 5-1 0-0
            XREAD STREAMS K:x 7-0
            XREAD STREAMS K:x $
            XREAD BLOCK 1 STREAMS K:x $
            XREAD STREAMS K:x
            XREAD STREAMS K:s 0
            XINFO STREAM K:none
            XTRIM K:x MAXLEN 1
            XRANGE K:x - +
            DEL K:x K:none K:s
            EXISTS K:x K:s
            GET
            NOSUCHCOMMAND a b
            EVALSHA 0000000000000000000000000000000000000000 0
            EVAL return{1,2} x
            EVAL return{1,2} -1
            EVAL return{1,2} 3 a
            """
        try await withBoth { both in
            for line in lines.split(separator: "\n") {
                await both.send(line.split(separator: " ").map { String($0).replacing("K:", with: "\(k):") })
            }
        }
    }

    @Test func scriptsAnswerAsInRedis() async throws {
        let k = RedisServer.uniqueApp("script")
        try await withBoth { both in
            for source in [
                "return 1", "return 3.99", "return -1.5", "return 'text'", "return true", "return false", "return nil",
                "return {1, 'two', {3, {4}}, nil, 5}", "return {ok = 'fine'}", "return {err = 'CODE what'}",
                "return redis.error_reply('MY error')", "return redis.status_reply('DONE')", "return {}",
                "return redis.call('GET', KEYS[1])", "return redis.call('SET', KEYS[1], 42)",
                "return redis.call('GET', KEYS[1]) .. '!'", "return redis.call('HSET', KEYS[2], 'a', 1, 'b', 2.5)",
                "return redis.call('HGET', KEYS[2], 'b')", "return redis.call('HGET', KEYS[2], 'none')",
                "return redis.call('HGET', KEYS[2], 'none') == false",
                "return redis.call('HMGET', KEYS[2], 'a', 'x', 'b')",
                "return redis.call('HGET', KEYS[1], 'a')", "return redis.pcall('HGET', KEYS[1], 'a')",
                "local e = redis.pcall('HGET', KEYS[1], 'a'); return e.err", "return redis.call('NOSUCH')",
                "return redis.call()", "return redis.call({})", "error('my words')", "return x.y", "x = 1",
                "return #ARGV .. ' ' .. #KEYS", "return {KEYS[2], ARGV[1], ARGV[3]}", "return tostring(1e15)",
                "return tonumber(ARGV[1]) * 2", "return string.match('12:abc', '^(%d+):')",
                "return redis.call('HINCRBY', KEYS[2], 'a', 1) .. ''", "return math.ceil(2.1)",
                "local t = redis.call('TIME'); return #t", "return unpack({1, 2})",
                "local r = redis.call('SET', KEYS[1], 'x'); return r.ok", "return redis.call('GET')",
                "return redis.call('EVAL', 'return 1', 0)", "return 'a\\0b'",
                "return redis.call('DEL', KEYS[1], KEYS[2])",
                "syntax error here",
            ] {
                await both.evaluate(source, ["\(k):1", "\(k):2"], ["7", "", "drei"])
            }
        }
    }

    /// Random commands on few keys, so that types clash and things come and go.
    @Test func randomCommandsAnswerAsInRedis() async throws {
        let k = RedisServer.uniqueApp("random")
        try await withBoth { both in
            var random = Seeded(state: 20_260_101)
            var entry = 1
            for _ in 0..<1500 {
                let key = "\(k):\(Int.random(in: 0..<6, using: &random))"
                let word = "w\(Int.random(in: 0..<5, using: &random))"
                let number = "\(Int.random(in: -6..<6, using: &random))"
                let other = "\(Int.random(in: -6..<6, using: &random))"
                entry += 1
                let commands: [[String]] = [
                    ["GET", key], ["SET", key, word], ["SET", key, word, "NX", "GET"], ["DEL", key], ["DEL", key],
                    ["TYPE", key], ["HGET", key, word], ["HSET", key, word, number], ["HDEL", key, word],
                    ["HINCRBY", key, word, number], ["HGETALL", key], ["HLEN", key], ["RPUSH", key, word, number],
                    ["LRANGE", key, number, other], ["LTRIM", key, number, other], ["LLEN", key],
                    ["ZADD", key, number, word], ["ZADD", key, "NX", number, word],
                    ["ZADD", key, "LT", number, word], ["ZCOUNT", key, number, "(\(other)"], ["ZREM", key, word],
                    ["ZRANGEBYSCORE", key, number, "(\(other)", "WITHSCORES"], ["ZRANGE", key, number, other],
                    ["ZCARD", key], ["HSETNX", key, word, number],
                    ["ZREMRANGEBYSCORE", key, number, other], ["ZREMRANGEBYRANK", key, number, other],
                    ["XADD", key, "\(entry)-1", "f", word], ["XLEN", key],
                    ["XADD", key, "MAXLEN", "3", "\(entry)-2", "f", word], ["XRANGE", key, "-", "+"],
                    ["XREAD", "COUNT", "2", "STREAMS", key, "\(entry / 2)"], ["PEXPIRE", key, "600000"],
                ]
                guard let command = commands.randomElement(using: &random) else { continue }
                await both.send(command)
            }
        }
    }

    private struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let mixed = (state ^ (state >> 33)) &* 0xff51_afd7_ed55_8ccd
            return mixed ^ (mixed >> 33)
        }
    }

    @Test func whatAStreamTellsOfItselfIsWhatRedisTells() async throws {
        let k = RedisServer.uniqueApp("info")
        let server = try await RedisServer.shared()
        try await withStore { store in
            for number in 1...5 {
                _ = try await send(store, "XADD \(k) MAXLEN = 3 \(number)-0 f v")
                try await server.cli("XADD", k, "MAXLEN", "=", "3", "\(number)-0", "f", "v")
            }
            let reply = try await send(store, "XINFO STREAM \(k)").array ?? []
            let theirs = try await server.cli("XINFO", "STREAM", k).split(separator: "\n").map(String.init)
            for name in ["length", "last-generated-id", "entries-added"] {
                let ours = reply.firstIndex { $0.string == name }.map { reply[$0 + 1] }
                let place = theirs.firstIndex(of: name)
                check((ours?.string ?? ours?.integer.map { "\($0)" }) == place.map { String(theirs[$0 + 1]) }, name)
            }
        }
    }
}
