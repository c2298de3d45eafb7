import CacheTier
import Entitlements
import HTTP
import Redis
import Runtime
import TestSupport
import Testing
import Time

/// What the doctor says of how notifications come, and of the certificates that are in use.
@Suite(.timeLimit(.minutes(6))) struct ArrivalsCheckTests {
    private func examine(_ body: (any RedisLink) async throws -> Void) async throws -> Examinee.Line {
        try await RedisServer.withOwn { server in
            var settings = RedisSettings()
            settings.port = server.port
            let loop = try EventLoop(name: "arrivals")
            let link = settings.connector(loop: loop).link("arrivals")
            await link.start()
            check(await link.waitUntilConnected(within: .seconds(60)))
            let result: Result<Void, any Error>
            do { result = .success(try await body(link)) } catch { result = .failure(error) }
            await link.close()
            loop.stop()
            try result.get()
            return try await Examinee(#","redis":{"port":\#(server.port)}"#)
                .examine("--no-test", "--skip", "rabbitmq")["arrivals, demo"]
        }
    }

    /// An hour ago, after a time in which something came in every minute of every hour.
    private func write(_ last: Timestamp, _ environment: StoreEnvironment, in redis: any RedisLink) async throws {
        let arrivals = Arrivals(redis: redis)
        for hour in (1...200).reversed() as ReversedCollection<ClosedRange<Int64>> {
            for minute in 0..<3 as Range<Int64> {
                try await arrivals.note(
                    at: last - .seconds(hour * 3600 - minute * 60), of: AppID("demo"), in: environment)
            }
        }
        try await arrivals.note(at: last, of: AppID("demo"), in: environment)
    }

    @Test func anEmptyStoreSaysNothing() async throws {
        let line = try await examine { _ in }
        #expect(line.status == "notChecked")
    }

    @Test func aSandboxAddressThatWasNeverUsedIsAWarning() async throws {
        let line = try await examine { redis in try await LineageStore(redis: redis).prepare() }
        #expect(line.status == "warning")
        #expect(line.detail == "no notification has ever come to the sandbox address")
        check(line.remedies.contains { $0.contains("/apple/demo/sandbox") })
    }

    @Test func whatComesAsUsualIsFine() async throws {
        let now = WallClock.system.now()
        let line = try await examine { redis in
            try await LineageStore(redis: redis).prepare()
            try await Arrivals(redis: redis).note(at: now, of: AppID("demo"), in: .sandbox)
        }
        #expect(line.status == "fine")
        #expect(line.detail == "production none yet; sandbox last at \(now.rfc3339.prefix(19))Z, as usual")
    }

    @Test func anUnusualSilenceIsAWarningThatSaysSinceWhen() async throws {
        let last = WallClock.system.now() - .seconds(12 * 3600)
        let line = try await examine { redis in
            try await LineageStore(redis: redis).prepare()
            try await write(last, .production, in: redis)
            try await Arrivals(redis: redis).note(at: last, of: AppID("demo"), in: .sandbox)
        }
        #expect(line.status == "warning")
        #expect(
            line.detail
                == "nothing has come to production since \(last.rfc3339.prefix(19))Z, which is unusual for this hour of the week"
        )
    }

    @Test func theCertificateOfTheFileIsHeldAgainstTheOneThatIsShown() async throws {
        let folder = try TemporaryFolder("in-use")
        try await folder.makeCertificate()
        let file = HTTPServerSettings.Certificate(chainFile: folder.file("chain.pem"), keyFile: folder.file("key.pem"))
        let end = try TLSCertificateReport(file).notAfter
        let stale = try await inUse(folder, shown: end - .seconds(86_400))
        #expect(stale.status == "warning")
        check(stale.remedies.contains { $0.contains("SIGHUP") })
        let fresh = try await inUse(folder, shown: end)
        #expect(fresh.status == "fine")
        #expect(fresh.detail == "http shows the one of its file; Apple's leaf until 2033-05-18")
    }

    /// A gateway's listener for operators, and nothing of a gateway behind it.
    private func inUse(_ folder: TemporaryFolder, shown: Timestamp) async throws -> Examinee.Line {
        let metrics = Metrics()
        metrics.gauge(
            "holdfast_tls_certificate_end_timestamp_seconds", "", labels: ["listener": "http"]
        ).set(Double(shown.milliseconds) / 1000)
        metrics.gauge(
            "holdfast_apple_certificate_end_timestamp_seconds", "", labels: ["kind": "leaf"]
        ).set(2_000_000_000.999)
        let loop = try EventLoop(name: "operations")
        let server = HTTPServer(
            settings: HTTPServerSettings(name: "operations", address: "127.0.0.1:0"), loops: [loop],
            handler: OperationsRoutes(metrics: metrics) { Readiness(isReady: true, parts: [:]) }, metrics: Metrics(),
            log: .discarding)
        try await server.start()
        let result: Result<Examinee.Line, any Error>
        do {
            let http =
                #""http":{"certificateFile":"\#(folder.file("chain.pem"))","#
                + #""privateKeyFile":"\#(folder.file("key.pem"))"}"#
            let examinee = try Examinee(
                #","gateway":{\#(http),"operations":{"address":"127.0.0.1:\#(server.boundPort)"}}"#)
            result = .success(try await examinee.examine("--no-test", "--skip", "rabbitmq")["certificates in use"])
        } catch { result = .failure(error) }
        await server.drain()
        loop.stop()
        return try result.get()
    }
}
