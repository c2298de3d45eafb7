import AppStore
import Entitlements
import HTTP
import Runtime
import TestSupport
import Testing

/// What the doctor says of Apple's health, as gateway and consumer see it.
@Suite(.timeLimit(.minutes(6))) struct AppleHealthCheckTests {
    private static let gateway = "apple, gateway"
    private static let consumer = "apple, consumer"

    /// A gateway's listener for operators, and nothing of a gateway behind it.
    private func examine(_ outcomes: [(StoreEnvironment, ServerAPIFailure?)]) async throws -> Examinee.Result {
        let monitor = AppleHealthMonitor()
        let now = ContinuousClock.now
        for environment in StoreEnvironment.allCases { monitor.watch(AppleStore(AppID("demo"), environment)) {} }
        for (second, (environment, failure)) in outcomes.enumerated() {
            monitor.note(
                ServerAPIOutcome(
                    .transaction, failure: failure, sentAt: now + .seconds(second),
                    endedAt: now + .seconds(second) + .milliseconds(100)), app: AppID("demo"), environment: environment)
        }
        let loop = try EventLoop(name: "operations")
        let server = HTTPServer(
            settings: HTTPServerSettings(name: "operations", address: "127.0.0.1:0"), loops: [loop],
            handler: OperationsRoutes(metrics: Metrics(), pages: ["/apple": { .json(monitor.json) }]) {
                Readiness(isReady: true, parts: [:])
            }, metrics: Metrics(), log: .discarding)
        try await server.start()
        let result: Result<Examinee.Result, any Error>
        do {
            let examinee = try Examinee(
                #","gateway":{"operations":{"address":"127.0.0.1:\#(server.boundPort)"}}"#,
                #","consumer":{"operations":{"address":"127.0.0.1:1"}}"#)
            result = .success(try await examinee.examine("--no-test"))
        } catch { result = .failure(error) }
        await server.drain()
        loop.stop()
        return try result.get()
    }

    private let timeout = ServerAPIFailure(.timedOut, .transaction, "no answer")

    @Test func anAppleThatAnswersIsFine() async throws {
        let result = try await examine([(.production, nil)])
        #expect(result[Self.gateway].status == "fine")
        #expect(result[Self.gateway].detail.hasPrefix("demo production fine, last answer 20"))
        #expect(result[Self.gateway].detail.hasSuffix("demo sandbox not asked yet"))
        #expect(result[Self.consumer].status == "notChecked")
        #expect(result[Self.consumer].detail == "no consumer answers at 127.0.0.1:1")
    }

    @Test func oneFailureIsAWarningAndAnOutageIsWrong() async throws {
        let one = try await examine([(.production, nil), (.production, timeout)])[Self.gateway]
        #expect(one.status == "warning")
        #expect(one.detail.hasPrefix("demo production slow or failing since 20"))
        #expect(one.detail.contains("no answer"))
        let three = try await examine([(.sandbox, timeout), (.sandbox, timeout), (.sandbox, timeout)])
        #expect(three[Self.gateway].status == "unreachable")
        #expect(three[Self.gateway].detail.hasPrefix("demo sandbox unreachable since 20"))
        #expect(three[Self.gateway].remedies.count == 1)
        #expect(three.exitCode == 3)
    }

    @Test func aRefusedKeyIsNamedAndNoOutage() async throws {
        let refused = ServerAPIFailure(.unauthorized, .transaction, "Apple does not accept the token", status: 401)
        let line = try await examine([(.production, refused)])[Self.gateway]
        #expect(line.status == "warning")
        #expect(line.detail.hasPrefix("demo production: Apple has refused the key since 20"))
        #expect(line.remedies == ["See the line apple, demo production."])
    }
}
