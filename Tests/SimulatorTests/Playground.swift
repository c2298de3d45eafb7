import AppStore
import HTTP
import JSON
import Runtime
import Synchronization
import Testing
import Time

@testable import Simulator

/// A simulator and the server that its notifications go to, on loops of their own.
final class Playground: Sendable {
    let simulator: Simulator
    let receiver: Receiver
    let client: HTTPClient
    let clock: TestClock?
    private let receivingServer: HTTPServer
    private let verifier: NotificationVerifier
    private let loops: [EventLoop]

    /// Runs `body` and stops everything after it, however it ends. With a clock the time is the test's.
    static func with(
        _ settings: StoreSettings = StoreSettings(), clock: TestClock? = nil, connections: Int = 16,
        sendTimeout: Duration = .seconds(10), receiver: Receiver = Receiver { _ in 200 },
        _ body: (Playground) async throws -> Void
    ) async throws {
        let playground = try await Playground(settings, clock, connections, sendTimeout, receiver)
        do {
            try await body(playground)
        } catch {
            await playground.stop()
            throw error
        }
        await playground.stop()
    }

    private init(
        _ settings: StoreSettings, _ clock: TestClock?, _ connections: Int, _ sendTimeout: Duration,
        _ receiver: Receiver
    ) async throws {
        let loops = [
            try EventLoop(name: "simulator"), try EventLoop(name: "servers"), try EventLoop(name: "client"),
        ]
        self.loops = loops
        self.receiver = receiver
        self.clock = clock
        var http = HTTPServerSettings(name: "receiver", address: "127.0.0.1:0")
        http.bodyBytes = 1 << 20
        receivingServer = HTTPServer(
            settings: http, loops: [loops[1]], handler: receiver, metrics: Metrics(), log: .discarding)
        try await receivingServer.start()
        let wall = clock.map { clock in WallClock { clock.now } } ?? .system
        simulator = Simulator(
            settings: SimulatorSettings(
                store: settings, catalog: Demo.catalog,
                notificationURL: "http://127.0.0.1:\(receivingServer.boundPort)/apple", connections: connections,
                sendTimeout: sendTimeout),
            identity: try SimulatorIdentity(makingAt: Demo.start), loop: loops[0], serverLoops: [loops[1]], clock: wall,
            log: .discarding)
        client = HTTPClient(loop: loops[2])
        let roots = try TrustedRoots(file: Array(simulator.identity.authority.rootPEM.utf8))
        verifier = NotificationVerifier(JWSVerifier(roots: roots))
        try await simulator.start()
    }

    private func stop() async {
        await client.close()
        await simulator.drain()
        receiver.letGo()
        await receivingServer.drain()
        for loop in loops { loop.stop() }
    }

    var now: Timestamp { clock?.now ?? WallClock.system.now() }

    // MARK: Calling it

    struct Answer: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let json: JSONValue?
    }

    func control(_ method: HTTPClientRequest.Method, _ path: String, _ body: String = "") async throws -> Answer {
        try await send(HTTPClientRequest(method, "\(simulator.url)/control/\(path)", body: Array(body.utf8)))
    }

    /// With a good token, unless another is given.
    func api(
        _ method: HTTPClientRequest.Method, _ path: String, _ body: String = "", authorization: String? = nil,
        timeout: Duration? = nil, root: String = "inApps"
    ) async throws -> Answer {
        var headers = HTTPHeaders()
        headers.append("Authorization", try authorization ?? "Bearer \(token())")
        return try await send(
            HTTPClientRequest(
                method, "\(simulator.url)/\(root)/\(path)", headers: headers, body: Array(body.utf8), timeout: timeout))
    }

    func token(
        issuer: String? = nil, key keyID: String? = nil, bundle: String? = nil, signedBy key: SigningKey? = nil,
        at time: Timestamp? = nil
    ) throws -> String {
        let identity = simulator.identity
        return try ServerAPIToken.make(
            issuerID: issuer ?? identity.issuerID, keyID: keyID ?? identity.keyID,
            bundleID: bundle ?? simulator.settings.store.bundleID, key: key ?? identity.apiKey, now: time ?? now)
    }

    /// Asks and expects one of Apple's errors; nil stands for success.
    func expect(
        _ code: Int?, _ method: HTTPClientRequest.Method, _ path: String, _ body: String = "", root: String = "inApps",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let answer = try await api(method, path, body, root: root)
        let found = answer.json?["errorCode"]?.int64
        let wanted = code.map { Int64($0) }
        #expect(found == wanted, "\(path) \(body)", sourceLocation: sourceLocation)
        guard let code else { return }
        #expect(answer.status == code / 10_000, "\(path)", sourceLocation: sourceLocation)
        #expect(answer.headers["Content-Type"] == "application/json", sourceLocation: sourceLocation)
        #expect(answer.json?["errorMessage"]?.string?.isEmpty == false, sourceLocation: sourceLocation)
    }

    /// Buys and returns the account with its purchase.
    func purchase(
        _ product: String = "premium.monthly", outsideApp: Bool = false, seats: SeatPurchase? = nil,
        by account: String? = nil
    ) async throws -> (account: String, transaction: StoreTransaction) {
        let buyer: String
        if let account { buyer = account } else { buyer = try await simulator.createAccount() }
        let events = try await simulator.perform(
            .buy(product, seats: seats, outsideApp: outsideApp), for: buyer)
        return (buyer, try #require(events.last?.notification?.transaction))
    }

    private func send(_ request: HTTPClientRequest) async throws -> Answer {
        let response = try await client.send(request)
        return Answer(
            status: response.status, headers: response.headers,
            json: response.body.isEmpty ? nil : try JSONValue.parse(response.body))
    }

    // MARK: What came of it

    /// Waits until so many tries to deliver have ended, and returns them.
    func deliveries(_ count: Int) async -> [SimulatorEvent] {
        var found: [SimulatorEvent] = []
        var last: UInt64 = 0
        while found.count < count {
            let events = await simulator.events(after: last, wait: .seconds(30))
            guard let newest = events.last else { break }
            last = newest.sequence
            found += events.filter { $0.result != nil }
        }
        return found
    }

    func verify(_ signedPayload: String) throws -> VerifiedNotification {
        let settings = simulator.settings.store
        return try verifier.verify(
            signedPayload: Array(signedPayload.utf8)[...],
            for: AppIdentity(bundleID: settings.bundleID, appAppleID: settings.appAppleID), now: now)
    }

    /// What a JWS says, after its signature was checked.
    func payload(_ jws: String?) throws -> JSONValue {
        let jws = try #require(jws)
        let roots = try TrustedRoots(der: [simulator.identity.authority.rootDER])
        _ = try JWSVerifier(roots: roots).verify(Array(jws.utf8)[...], as: TransactionPayload.self, now: now)
        return try Self.unchecked(jws)
    }

    static func unchecked(_ jws: String) throws -> JSONValue {
        let part = try #require(jws.split(separator: ".").dropFirst().first)
        return try JSONValue.parse(try #require(Base64URL.decode(String(part))))
    }

    /// The payload of the notification that was signed last of those that arrived: on their way they may overtake.
    func lastNotification() throws -> JSONValue {
        var last: JSONValue?
        for body in receiver.bodies {
            let signed = try #require(try JSONValue.parse(body)["signedPayload"]?.string)
            let payload = try Self.unchecked(signed)
            if (payload["signedDate"]?.int64 ?? 0) >= (last?["signedDate"]?.int64 ?? 0) { last = payload }
        }
        return try #require(last)
    }

    func transactionOfLastNotification() throws -> JSONValue {
        try payload(try lastNotification()["data"]?["signedTransactionInfo"]?.string)
    }

    func verify(body: [UInt8]) throws -> VerifiedNotification {
        try verify(try #require(try JSONValue.parse(body)["signedPayload"]?.string))
    }
}

/// Answers each notification with the status that a test chooses, and keeps its body.
final class Receiver: HTTPHandler {
    private struct State {
        var bodies: [[UInt8]] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isLetGo = false
    }

    private let state = Mutex(State())
    private let status: @Sendable (_ number: Int) -> Int?

    /// Where `status` is nil there is no answer until `letGo`.
    init(_ status: @escaping @Sendable (_ number: Int) -> Int?) { self.status = status }

    var bodies: [[UInt8]] { state.withLock { $0.bodies } }

    func letGo() {
        let waiting = state.withLock { state in
            state.isLetGo = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func respond(to request: HTTPRequest) -> HTTPReply {
        let number = state.withLock { state in
            state.bodies.append(request.body)
            return state.bodies.count
        }
        if let status = status(number) { return .now(HTTPResponse(status: status)) }
        return .later {
            await withCheckedContinuation { continuation in
                let isLetGo = self.state.withLock { state in
                    if !state.isLetGo { state.waiting.append(continuation) }
                    return state.isLetGo
                }
                if isLetGo { continuation.resume() }
            }
            return HTTPResponse(status: 503)
        }
    }
}

/// A wall clock that tests set.
final class TestClock: Sendable {
    private let time: Mutex<Timestamp>
    init(_ time: Timestamp = Demo.start) { self.time = Mutex(time) }
    var now: Timestamp { time.withLock { $0 } }
    func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
}
