import TestSupport
import Testing

@Suite struct RedisServerTests {
    @Test func aServerKeepsWhatItAcknowledgedThroughKillAndRestart() async throws {
        try await RedisServer.withOwn { server in
            #expect(try await server.cli("SET", "a", "b") == "OK")
            try await server.kill()
            try await server.start()
            #expect(try await server.cli("GET", "a") == "b")
            #expect(try await server.cli("CONFIG", "GET", "appendfsync").contains("always"))
        }
    }
}
