import CacheTier
import Entitlements
import JSON
import Redis
import Runtime
import TestSupport
import Time

/// One app with customers in Redis, and the settings by which `holdfast products` finds it.
final class Shop: Sendable {
    let id = RedisServer.uniqueApp("shop")
    let folder: TemporaryFolder
    let redis: RedisServer
    let settings: String
    let client: RedisClient
    private let loop: EventLoop

    struct Answer {
        let status: Int32
        let output: String
        /// The JSON line of the output, if there is one.
        let json: JSONValue?

        subscript(_ path: String...) -> JSONValue? { path.reduce(json) { $0?[$1] } }
    }

    static func with(
        redis: RedisServer? = nil, rabbit: RabbitMQServer? = nil, _ body: (Shop) async throws -> Void
    ) async throws {
        let server = if let redis { redis } else { try await RedisServer.shared() }
        let rabbit = if let rabbit { rabbit } else { try await RabbitMQServer.shared() }
        let shop = try await Shop(server, rabbit)
        let result: Result<Void, any Error>
        do { result = .success(try await body(shop)) } catch { result = .failure(error) }
        await shop.client.close()
        shop.loop.stop()
        try result.get()
    }

    private init(_ redis: RedisServer, _ rabbit: RabbitMQServer) async throws {
        folder = try TemporaryFolder("products")
        self.redis = redis
        let spool = folder.file("spool")
        settings = try folder.write(
            Self.settings(id, redis, rabbit, spool, followEvery: "50ms"), to: "holdfast.json")
        // One whose publisher waits for a minute until everybody has the new map.
        try folder.write(Self.settings(id, redis, rabbit, spool, followEvery: "60s"), to: "slow.json")
        loop = try EventLoop(name: "shop")
        var settings = RedisSettings()
        settings.port = redis.port
        settings.commandTimeout = .seconds(30)
        client = RedisClient(name: "shop", settings: settings, loop: loop)
        await client.start()
    }

    var slowSettings: String { folder.file("slow.json") }

    private static func settings(
        _ id: String, _ redis: RedisServer, _ rabbit: RabbitMQServer, _ spool: String, followEvery: String
    ) -> String {
        """
        {"apps": {"\(id)": {"bundleId": "com.example.shop", "appAppleId": 1234567890, "products": {
            "basic": {"entitlements": ["basic"]}, "pro": {"entitlements": ["basic", "pro"]},
            "old": {"entitlements": ["basic"]}}}},
        "products": {"followEvery": "\(followEvery)"}, "spool": {"folder": "\(spool)"},
        "gateway": {"http": {"address": "127.0.0.1:0"}, "operations": {"address": "127.0.0.1:0"}},
        "consumer": {"operations": {"address": "127.0.0.1:0"}}, "redis": {"port": \(redis.port)},
        "broker": {"host": "127.0.0.1", "port": \(rabbit.port), "prefix": "\(RabbitMQServer.uniquePrefix("shop"))",
            "ledgerMaximumBytes": "64MiB", "ledgerSegmentBytes": "4MiB"}}
        """
    }

    /// Runs `holdfast products`.
    func products(_ arguments: String...) async throws -> Answer { try await run("products", arguments) }

    func run(_ command: String, _ arguments: [String]) async throws -> Answer {
        let result = try await Command.run(
            try ChildProcess.product("holdfast"), [command] + arguments + ["--settings", settings])
        let line = result.output.split(separator: "\n").last { $0.hasPrefix("{") }
        return Answer(
            status: result.status, output: result.output,
            json: line.flatMap { try? JSONValue.parse(Array($0.utf8)) })
    }

    func map(_ products: String, to name: String = "map.json") throws -> String {
        try folder.write("{\"products\": {\(products)}}", to: name)
    }

    static func customer(_ number: Int) -> String {
        let digits = String(number)
        return "00000000-0000-4000-8000-\(String(repeating: "0", count: 12 - digits.count))\(digits)"
    }

    /// Gives `count` customers, numbered from `first`, a year of `product`.
    func sell(
        _ product: String, to count: Int, from first: Int, in environment: StoreEnvironment = .production
    ) async throws {
        let store = LineageStore(redis: client)
        let begin = WallClock.system.now() - .seconds(86_400)
        for number in first..<first + count {
            let lineage = LineageID(
                app: AppID(id), environment: environment, originalTransactionID: "\(number)")
            _ = try await store.apply(
                Observation(
                    lineage: lineage, source: .notification, signedDate: begin,
                    transaction: TransactionFact(
                        transactionID: "\(number)", originalTransactionID: "\(number)", productID: product,
                        signedDate: begin, purchaseDate: begin, expiresDate: begin + .seconds(365 * 86_400),
                        type: "Auto-Renewable Subscription", appAccountToken: Self.customer(number),
                        ownership: "PURCHASED", payloadHash: "\(number)")), cause: .purchase, at: begin)
        }
    }
}
