import Redis
import Runtime
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(6))) struct RedisClientTests {
    @Test func repliesOfEveryKindAreCopiedOut() async throws {
        let server = try await RedisServer.shared()
        let key = RedisServer.uniqueApp()
        try await withClient(port: server.port) { client in
            #expect(try await client.send(["SET", .text(key), .bytes([0, 255, 13, 10])]) == .status("OK"))
            #expect(try await client.send(["GET", .text(key)]) == .bulk([0, 255, 13, 10]))
            #expect(try await client.send(["GET", .text("\(key):absent")]) == .null)
            #expect(try await client.send(["STRLEN", .text(key)]) == .integer(4))
            let nested = try await client.send(["EVAL", "return {1, {'a', {}}, false, 'b'}", 0])
            #expect(
                nested
                    == .array([.integer(1), .array([.bulk(Array("a".utf8)), .array([])]), .null, .bulk([98])]))
            #expect(try await client.send(["SET", .text(key), ""]) == .status("OK"))
            #expect(try await client.send(["GET", .text(key)]) == .bulk([]))
        }
    }

    @Test func aRefusedCommandThrowsWhatRedisSaid() async throws {
        let server = try await RedisServer.shared()
        try await withClient(port: server.port) { client in
            do throws(RedisError) {
                _ = try await client.send(["NONSENSE"])
                Issue.record("not refused")
            } catch {
                #expect(error.code == .refused)
                #expect(error.message.hasPrefix("ERR unknown command"))
                #expect(!error.isRetryable)
            }
        }
    }

    @Test func repliesFindTheirCommandsHoweverManyAreInFlight() async throws {
        let server = try await RedisServer.shared()
        try await withClient(port: server.port) { client in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<2000 {
                    group.addTask { try await client.send(["ECHO", .text("\(number)")]).string == "\(number)" }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test func aLargeValueComesBackWhole() async throws {
        let server = try await RedisServer.shared()
        let key = RedisServer.uniqueApp()
        let value = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try await withClient(port: server.port, { $0.commandTimeout = .seconds(20) }) { client in
            _ = try await client.send(["SET", .text(key), .bytes(value), "EX", 60])
            #expect(try await client.send(["GET", .text(key)]) == .bulk(value))
        }
    }

    @Test func aScriptRunsOnAServerThatHasNeverSeenItAndAgainByItsDigest() async throws {
        let server = try await RedisServer.shared()
        let script = RedisScript("return {KEYS[1], ARGV[1]} -- \(RedisServer.uniqueApp())")
        try await withClient(port: server.port) { client in
            for _ in 0..<2 {
                let reply = try await client.evaluate(script, keys: ["k"], arguments: ["v"])
                #expect(reply == .array([.bulk([UInt8(ascii: "k")]), .bulk([UInt8(ascii: "v")])]))
            }
            let known = try await client.send(["SCRIPT", "EXISTS", .text(script.digest)])
            #expect(known == .array([.integer(1)]))
        }
    }

    @Test func oneCommandTooManyIsRefusedAndTheOthersGoOn() async throws {
        try await RedisServer.withOwn { server in
            try await withClient(port: server.port, { $0.commandsInFlight = 8 }) { client in
                try server.pause()
                let codes = await withTaskGroup(of: RedisError.Code?.self) { group in
                    for _ in 0..<9 { group.addTask { await redisFailure { _ = try await client.send(["PING"]) } } }
                    // The refusal comes while the server is stopped; the others wait for it.
                    var codes = [await group.next() ?? nil]
                    try? server.resume()
                    for await code in group { codes.append(code) }
                    return codes
                }
                #expect(codes == [.overloaded] + Array(repeating: nil, count: 8))
            }
        }
    }

    @Test func commandsFailAtOnceWhileThereIsNoServer() async throws {
        try await RedisServer.withOwn { server in
            try await withClient(port: server.port) { client in
                try await server.kill()
                check(try await eventually { !client.isConnected })
                check(await redisFailure { _ = try await client.send(["PING"]) } == .unreachable)
                try await server.start()
                #expect(await client.waitUntilConnected(within: .seconds(60)))
                #expect(client.isConnected)
                #expect(try await client.send(["PING"]) == .status("PONG"))
            }
        }
    }

    @Test func aClientStartedBeforeTheServerConnectsWhenItComes() async throws {
        try await RedisServer.withOwn { server in
            try await server.stop()
            try await withClient(port: server.port) { client in
                #expect(!client.isConnected)
                try await server.start()
                #expect(await client.waitUntilConnected(within: .seconds(60)))
            }
        }
    }

    @Test func killingTheServerFailsEveryCommandInFlight() async throws {
        try await RedisServer.withOwn { server in
            try await withClient(port: server.port, { $0.commandTimeout = .seconds(50) }) { client in
                let codes = try await withThrowingTaskGroup(of: RedisError.Code?.self) { group in
                    for _ in 0..<100 {
                        group.addTask { await redisFailure { _ = try await client.send(["BLPOP", "none", 0]) } }
                    }
                    // The last one's registration shows that all are on their way.
                    check(
                        try await eventually { try await server.cli("INFO", "clients").contains("blocked_clients:1") })
                    try await server.kill()
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(codes == Array(repeating: .unreachable, count: 100))
            }
        }
    }

    @Test func aServerThatStopsAnsweringTimesOutAndIsConnectedToAgain() async throws {
        try await RedisServer.withOwn { server in
            try await withClient(port: server.port, { $0.commandTimeout = .milliseconds(150) }) { client in
                try server.pause()
                check(await redisFailure { _ = try await client.send(["PING"]) } == .timedOut)
                #expect(!client.isConnected)
                try server.resume()
                #expect(await client.waitUntilConnected(within: .seconds(60)))
                #expect(try await client.send(["PING"]) == .status("PONG"))
            }
        }
    }

    @Test func aServerThatHangsIsNoticedThoughNobodyAsks() async throws {
        try await RedisServer.withOwn { server in
            let hurry: (inout RedisSettings) -> Void = {
                ($0.commandTimeout, $0.heartbeat) = (.milliseconds(300), .milliseconds(50))
            }
            try await withClient(port: server.port, hurry) { client in
                try server.pause()
                check(try await eventually { !client.isConnected })
                try server.resume()
                #expect(await client.waitUntilConnected(within: .seconds(60)))
            }
        }
    }

    @Test func connectingToAServerThatSaysNothingIsGivenUp() async throws {
        try await RedisServer.withOwn { server in
            try server.pause()
            let settings: (inout RedisSettings) -> Void = { $0.connectTimeout = .milliseconds(100) }
            try await withClient(port: server.port, settings) { client in
                #expect(!client.isConnected)
                try server.resume()
                #expect(await client.waitUntilConnected(within: .seconds(60)))
            }
        }
    }

    @Test func aUserWithAPasswordAndADatabaseGetsIn() async throws {
        try await RedisServer.withOwn { server in
            try await server.cli("ACL", "SETUSER", "holdfast", "on", ">se cret", "~*", "+@all", "-ping")
            try await server.cli("CONFIG", "SET", "requirepass", "other")
            let right: (inout RedisSettings) -> Void = {
                ($0.user, $0.password, $0.database) = ("holdfast", Secret("se cret"), 3)
            }
            try await withClient(port: server.port, right) { client in
                #expect(client.isConnected)
                let whoIAm = try await client.send(["CLIENT", "INFO"]).string
                #expect(whoIAm?.contains("db=3") == true)
                #expect(try await client.send(["ACL", "WHOAMI"]).string == "holdfast")
            }
            for password in [nil, Secret("wrong")] {
                try await withClient(port: server.port, { $0.password = password }) { #expect(!$0.isConnected) }
            }
            try await withClient(port: server.port, { $0.password = Secret("other") }) { #expect($0.isConnected) }
        }
    }

    @Test func aNameThatResolvesToNothingIsUnreachable() async throws {
        try await withClient(port: 1, { $0.host = "nowhere.invalid" }) { client in
            #expect(!client.isConnected)
            check(await redisFailure { _ = try await client.send(["PING"]) } == .unreachable)
        }
    }

    @Test func drainingWaitsForRepliesInFlightAndRefusesNewCommands() async throws {
        try await RedisServer.withOwn { server in
            try await withClient(port: server.port, { $0.commandTimeout = .seconds(60) }) { client in
                async let reply = client.send(["BLPOP", "list", "0"])
                check(try await eventually { try await server.cli("CLIENT", "LIST").contains("cmd=blpop") })
                async let drained: Void = client.drain()
                check(try await eventually { !client.isConnected })
                check(await redisFailure { _ = try await client.send(["PING"]) } == .closed)
                _ = try await server.cli("RPUSH", "list", "a")
                let elements = try await reply.array?.map(\.string)
                #expect(elements == ["list", "a"])
                await drained
            }
        }
    }

    @Test(arguments: [
        ["hello\r\n"], ["$-7\r\n"], ["$99999999999999999999\r\n"], ["*99999999999999999999\r\n"], [":\r\n"], ["%2\r\n"],
        ["*1\r\n", "*1\r\n", "*1\r\n", "*1\r\n", "*1\r\n", "*1\r\n", "*1\r\n", "*1\r\n", "*1\r\n", "*1\r\n"],
        ["$70000\r\n" + String(repeating: "x", count: 70000)],
        ["*2000000000\r\n" + String(repeating: ":1\r\n", count: 9000)],
        ["\0"], ["+"], ["$5\r\nhel"],
    ])
    func aReplyThatIsNoneBreaksTheConnectionOnly(pieces: [String]) async throws {
        let server = try ScriptedRedis(replies: [pieces])
        let settings: (inout RedisSettings) -> Void = {
            ($0.replyBytes, $0.commandTimeout) = (65536, .milliseconds(500))
        }
        try await withClient(port: server.port, settings) { client in
            let code = await redisFailure { _ = try await client.send(["GET", "a"]) }
            #expect(code == .unreachable || code == .timedOut)
        }
    }

    @Test func aReplyThatNobodyAskedForBreaksTheConnectionOnly() async throws {
        let server = try ScriptedRedis(replies: [["+OK\r\n+AND\r\n", ":7\r\n", "-ERR\r\n"]])
        try await withClient(port: server.port) { client in
            let reply = try await client.send(["GET", "a"])
            #expect(reply == .status("OK"))
            // The time without a connection may be too short to be seen; that there was a second one is not.
            check(try await eventually { client.connections == 2 })
        }
    }

    @Test func whoWaitsWhenTheServerBreaksOffLearnsWhy() async throws {
        let server = try ScriptedRedis(replies: [["nonsense\r\n"]])
        try await withClient(port: server.port) { client in
            do throws(RedisError) {
                _ = try await client.send(["GET", "a"])
                Issue.record("the reply was taken")
            } catch {
                #expect(error.code == .unreachable)
                check(error.message.contains("Protocol error"), "\(error)")
            }
        }
    }

    @Test func aReplyInPiecesIsPutTogether() async throws {
        let server = try ScriptedRedis(replies: [["*2\r", "\n$3\r\na", "bc\r\n*", "-1\r\n"]])
        try await withClient(port: server.port) { client in
            let reply = try await client.send(["GET", "a"])
            #expect(reply == .array([.bulk(Array("abc".utf8)), .null]))
        }
    }
}
