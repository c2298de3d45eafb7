import AppStore
import Entitlements
import Glibc
import HTTP
import JSON
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

/// A client before a server that says what a test says.
final class Stage: Sendable {
    static let bundleID = "com.example.demo"
    static let issuerID = "57246542-96fe-1a63-e053-0824d011072a"

    let server: ScriptedServer
    let client: ServerAPIClient
    let key: SigningKey
    let metrics = Metrics()
    let log: LogLines

    static func with(
        environment: StoreEnvironment = .production, clock: WallClock = .system,
        budget: any CallBudget = UnlimitedCalls(), _ adjust: (inout ServerAPISettings) -> Void = { _ in },
        answering script: @escaping @Sendable (ScriptedServer.Exchange) -> ScriptedServer.Action,
        _ body: (Stage) async throws -> Void
    ) async throws {
        let server = try ScriptedServer(script)
        let loop = try EventLoop(name: "api-test")
        var settings = ServerAPISettings()
        settings.productionURL = server.url
        settings.sandboxURL = server.url
        adjust(&settings)
        let http = HTTPClient(settings: settings.http, loop: loop)
        let result: Result<Void, any Error>
        do {
            let stage = try Stage(server, http, settings, environment, clock, budget)
            result = .success(try await body(stage))
        } catch { result = .failure(error) }
        await http.close()
        loop.stop()
        try result.get()
    }

    private init(
        _ server: ScriptedServer, _ http: HTTPClient, _ settings: ServerAPISettings, _ environment: StoreEnvironment,
        _ clock: WallClock, _ budget: any CallBudget
    ) throws {
        self.server = server
        key = try SigningKey()
        let log = LogLines()
        self.log = log
        client = ServerAPIClient(
            bundleID: Self.bundleID, environment: environment,
            key: ServerAPIKey(keyID: "KEY1", issuerID: Self.issuerID, key: key), settings: settings, http: http,
            budget: budget, metrics: metrics, log: log.log, clock: clock)
    }

    var requests: [Request] { server.exchanges.map { Request($0.request) } }

    /// The failure of a call; nil when it succeeds.
    func failure<Value>(_ call: () async throws(ServerAPIFailure) -> Value) async -> ServerAPIFailure? {
        do throws(ServerAPIFailure) {
            _ = try await call()
            return nil
        } catch { return error }
    }
}

/// What a server was asked.
struct Request {
    let line: String
    let headers: [String: String]
    let body: String

    init(_ text: String) {
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
        line = lines.first.map { $0.split(separator: " ").prefix(2).joined(separator: " ") } ?? ""
        var headers: [String: String] = [:]
        for line in lines.dropFirst().prefix(while: { !$0.isEmpty }) {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        self.headers = headers
        body = lines.drop { !$0.isEmpty }.dropFirst().joined(separator: "\r\n")
    }

    var token: String { String(headers["authorization"]?.dropFirst("Bearer ".count) ?? "") }
}

/// An answer on the wire.
func answer(_ status: Int = 200, _ body: String = "", _ headers: String...) -> ScriptedServer.Action {
    let type = headers.contains { $0.hasPrefix("Content-Type") } ? [] : ["Content-Type: application/json"]
    let lines = ["HTTP/1.1 \(status) X", "Content-Length: \(body.utf8.count)"] + type + headers
    return .answer(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
}

/// One of Apple's sample answers.
func fixture(_ name: String) throws -> String {
    try File.text(at: "\(Command.packageFolder)/Tests/AppStoreAPITests/Fixtures/\(name).json")
}

/// Keeps what is logged.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    var log: Log {
        Log(part: "test", minimum: .info) { line in
            self.lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
    }
    var all: [String] { lines.withLock { $0 } }
}

/// A clock that tests set.
final class TestClock: Sendable {
    private let time: Mutex<Timestamp>
    init(_ time: Timestamp) { self.time = Mutex(time) }
    var wall: WallClock { WallClock { self.now } }
    var now: Timestamp {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }
}

/// Counts from 1, from any thread.
final class Count: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func next() -> Int {
        count.withLock { value in
            value += 1
            return value
        }
    }
}
