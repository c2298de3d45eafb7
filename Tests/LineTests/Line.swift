import Glibc
import HTTP
import JSON
import Runtime
import Simulator
import TestSupport
import Time

/// The whole line of one test's own: RabbitMQ, Redis, gateway and consumer as processes, and a simulated App Store.
///
/// Apple's hours are compressed so that a notification is tried again after 180 ms, 2 s, 4 s, 9 s and 13 s, and a year
/// lasts 26 minutes.
actor Line {
    static let speed = 20_000.0

    nonisolated let rabbitMQ: RabbitMQServer
    nonisolated let redis: RedisServer
    nonisolated let simulator: Simulator
    private let client: HTTPClient
    private let folder: TemporaryFolder
    private let ports: (gateway: Int, operations: Int, consumer: Int)
    private let loops: [EventLoop]
    private var gateway: ChildProcess?
    private var consumer: ChildProcess?

    /// Gives `body` a line that is up, and takes it down afterwards. When `body` fails, what the processes logged last is
    /// printed.
    static func with<Value: Sendable>(
        speed: Double = Line.speed, _ body: @Sendable (Line) async throws -> Value
    ) async throws -> Value {
        try await RabbitMQServer.withOwn { rabbitMQ in
            try await RedisServer.withOwn { redis in
                let line = try await Line(rabbitMQ: rabbitMQ, redis: redis, speed: speed)
                do {
                    try await line.start()
                    let value = try await body(line)
                    await line.stop()
                    return value
                } catch {
                    await line.stop()
                    print(await line.lastWords)
                    throw error
                }
            }
        }
    }

    private init(rabbitMQ: RabbitMQServer, redis: RedisServer, speed: Double) async throws {
        self.rabbitMQ = rabbitMQ
        self.redis = redis
        let folder = try TemporaryFolder("line")
        self.folder = folder
        ports = (try Self.freePort(), try Self.freePort(), try Self.freePort())
        let loops = [try EventLoop(name: "line"), try EventLoop(name: "line-http"), try EventLoop(name: "line-client")]
        self.loops = loops
        let identity = try SimulatorIdentity(inFolder: folder.file("simulator"), now: WallClock.system.now())
        let catalog = try StoreKitFile.parse(try File.bytes(at: "\(Command.packageFolder)/ops/demo.storekit"))
        simulator = Simulator(
            settings: SimulatorSettings(
                store: StoreSettings(speed: speed, seed: .random(in: .min ... .max)), catalog: catalog,
                notificationURL: "http://127.0.0.1:\(ports.gateway)/apple/demo/production", connections: 32),
            identity: identity, loop: loops[0], serverLoops: [loops[1]], log: .discarding)
        client = HTTPClient(
            settings: HTTPClientSettings(
                connectTimeout: .seconds(60), totalTimeout: .seconds(120), maximumConnectionsPerHost: 32),
            loop: loops[2])
        try folder.write(settings, to: "holdfast.json")
    }

    private func start() async throws {
        try await simulator.start()
        try await startGateway()
        try await startConsumer()
    }

    private func stop() async {
        _ = await consumer?.terminate()
        _ = await gateway?.terminate()
        await simulator.drain()
        for loop in loops { loop.stop() }
    }

    // MARK: Processes

    func startGateway() async throws {
        gateway = try ChildProcess.holdfast(["gateway", "--settings", settingsPath], log: folder.file("gateway.log"))
        try await untilReady(ports.operations, "gateway")
    }

    func startConsumer() async throws {
        consumer = try ChildProcess.holdfast(
            ["consumer", "--settings", settingsPath], log: folder.file("consumer.log"))
        try await untilReady(ports.consumer, "consumer")
    }

    /// kill -9.
    func killGateway() async { await gateway?.kill() }

    /// kill -9.
    func killConsumer() async { await consumer?.kill() }

    private func untilReady(_ port: Int, _ name: String) async throws {
        let isReady = try await eventually(within: .seconds(60)) { try await self.answers(port) }
        guard isReady else { throw CommandError("the \(name) did not become ready") }
    }

    private func answers(_ port: Int) async throws -> Bool {
        do { return try await client.send(.init(.get, "http://127.0.0.1:\(port)/readyz")).status == 200 } catch {
            // It does not listen yet.
            return false
        }
    }

    private var lastWords: String {
        [("gateway", gateway), ("consumer", consumer)].map { name, process in
            let lines = process?.log.split(separator: "\n").filter { !$0.contains(#""level":"info""#) } ?? []
            return "\(name):\n\(lines.suffix(30).joined(separator: "\n"))"
        }.joined(separator: "\n")
    }

    // MARK: Reads

    /// What a read of `customer` answers; throws when the status is not 200.
    func read(_ customer: String) async throws -> JSONValue {
        let response = try await client.send(
            HTTPClientRequest(
                .get, "http://127.0.0.1:\(ports.gateway)/v1/apps/demo/customers/\(customer)/entitlements",
                headers: ["Authorization": "Bearer \(Self.key)"]))
        guard response.status == 200 else {
            throw CommandError("\(response.status): \(String(decoding: response.body, as: UTF8.self))")
        }
        return try JSONValue.parse(response.body)
    }

    /// Whether a read says that `customer` has the entitlement `premium` now.
    func hasPremium(_ customer: String) async throws -> Bool {
        let entitlements = try await read(customer)["entitlements"]?.array ?? []
        return entitlements.contains { $0["id"]?.string == "premium" && $0["active"]?.bool == true }
    }

    /// `holdfast explain` with the line's settings.
    func explain(_ arguments: String...) async throws -> Command.Result {
        try await Command.run(
            try ChildProcess.product("holdfast"), ["explain", "--settings", settingsPath] + arguments)
    }

    /// Those of `customers` that cannot use what they paid for, after having been given `patience` for it.
    func withoutAccess(_ customers: [String], patience: Duration = .seconds(120)) async throws -> [String] {
        var missing = customers
        let end = ContinuousClock.now + patience
        repeat {
            missing = try await withThrowingTaskGroup(of: String?.self) { group in
                var rest = missing[...]
                for customer in rest.prefix(16) {
                    group.addTask { try await self.hasPremium(customer) ? nil : customer }
                }
                rest = rest.dropFirst(16)
                var still: [String] = []
                for try await customer in group {
                    if let customer { still.append(customer) }
                    if let next = rest.popFirst() { group.addTask { try await self.hasPremium(next) ? nil : next } }
                }
                return still
            }
        } while !missing.isEmpty && ContinuousClock.now < end
        return missing
    }

    /// The value of a metric of a process, summed over its labels; 0 when there is none yet.
    func metric(_ name: String, of process: Process) async throws -> Double {
        let port = process == .gateway ? ports.operations : ports.consumer
        let response = try await client.send(.init(.get, "http://127.0.0.1:\(port)/metrics"))
        return String(decoding: response.body, as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix(name + "{") || $0.hasPrefix(name + " ") }
            .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }

    enum Process { case gateway, consumer }

    // MARK: Settings

    private static let key = "line-tests-read-key"
    private nonisolated var settingsPath: String { folder.file("holdfast.json") }

    private var settings: String {
        """
        {
            "apps": { "demo": {
                "bundleId": "com.example.demo", "appAppleId": 1234567890,
                "products": {
                    "demo.premium.monthly": { "entitlements": ["premium"], "group": "demo", "level": 1 },
                    "demo.premium.yearly": { "entitlements": ["premium"], "group": "demo", "level": 1 },
                    "demo.basic.monthly": { "entitlements": ["basic"], "group": "demo", "level": 2 }
                }
            } },
            "appStore": { "roots": ["\(SimulatorIdentity.rootFile(in: folder.file("simulator")))"] },
            "keys": { "test": { "secret": "\(Self.key)", "scopes": ["read"] } },
            "broker": { "port": \(rabbitMQ.port) },
            "redis": { "port": \(redis.port) },
            "spool": { "folder": "\(folder.file("spool"))" },
            "gateway": {
                "http": { "address": "127.0.0.1:\(ports.gateway)" },
                "operations": { "address": "127.0.0.1:\(ports.operations)" }
            },
            "consumer": { "operations": { "address": "127.0.0.1:\(ports.consumer)" } }
        }
        """
    }

    /// A port that nobody listens on, below those that Linux gives to outgoing connections and beside those that the
    /// scripts in ops/ take.
    private static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 12_000..<20_000)
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard socket >= 0 else { throw SystemError(call: "socket") }
            defer { close(socket) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if bound == 0 { return port }
        }
        throw CommandError("no free port")
    }
}
