import Runtime
import Synchronization
import TestSupport
import Testing

@testable import Redis

/// What the log has of a Redis that is away.
@Suite(.timeLimit(.minutes(6))) struct OutageLogTests {
    private final class Lines: Sendable {
        private let all = Mutex<[String]>([])
        var log: Log {
            Log(part: "test", minimum: .debug) { line in
                self.all.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
            }
        }
        var texts: [String] { all.withLock { $0 } }
        func count(_ part: String) -> Int { texts.count { $0.contains(part) } }
    }

    private static let attempt = #""event":"still not connected""#
    private static let warning = #""level":"warning""#

    private func withLink(_ settings: RedisSettings, _ lines: Lines, _ body: (any RedisLink) async throws -> Void)
        async throws
    {
        var settings = settings
        settings.reconnectDelay = .milliseconds(40)
        settings.topologyEvery = .milliseconds(100)
        let loop = try EventLoop(name: "outage-log-test")
        let link = settings.connector(loop: loop, log: lines.log).link("test")
        await link.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(link)) } catch { result = .failure(error) }
        await link.close()
        loop.stop()
        try result.get()
    }

    @Test func anOutageIsToldOnceHoweverManyAttemptsItLasts() async throws {
        let lines = Lines()
        try await RedisServer.withOwn { server in
            var settings = RedisSettings()
            settings.port = server.port
            try await withLink(settings, lines) { link in
                check(await link.waitUntilConnected(within: .seconds(60)))
                let before = lines.count(Self.warning)
                try await server.kill()
                check(try await eventually { lines.count(Self.attempt) > 10 })
                let during = lines.count(Self.warning)
                #expect(during == before + 1)
                // The next one is another one.
                try await server.start()
                check(await link.waitUntilConnected(within: .seconds(60)))
                let between = lines.count(Self.warning)
                try await server.kill()
                check(try await eventually { lines.count(Self.warning) > between })
            }
        }
    }

    @Test func sentinelsThatAreAllAwayAreToldOfOnce() async throws {
        let lines = Lines()
        var settings = RedisSettings()
        settings.mode = .sentinel
        // Where nobody listens.
        settings.addresses = (1...3).map { RedisAddress(host: "127.0.0.1", port: $0) }
        try await withLink(settings, lines) { _ in
            check(try await eventually { lines.count(Self.attempt) > 10 })
        }
        let (all, ofTheSentinels) = (lines.count(Self.warning), lines.count("sentinels do not answer"))
        #expect(ofTheSentinels == 1)
        #expect(all == 2)
    }

    @Test func aLineOfAClusterNamesItsClientOnce() async throws {
        let lines = Lines()
        var settings = RedisSettings()
        settings.mode = .cluster
        settings.addresses = [RedisAddress(host: "127.0.0.1", port: 1)]
        try await withLink(settings, lines) { _ in }
        let texts = lines.texts
        #expect(!texts.isEmpty)
        for text in texts {
            let names = text.split(separator: #""client":"#, omittingEmptySubsequences: false).count - 1
            #expect(names == 1, "\(text)")
        }
    }
}
