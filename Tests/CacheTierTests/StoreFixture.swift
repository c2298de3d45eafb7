import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport

@testable import CacheTier

/// Gives `body` a connected client on a loop of its own, and closes both afterwards.
func withRedis<Value>(
    _ server: RedisServer, _ body: (RedisClient) async throws -> Value
) async throws -> Value {
    let loop = try EventLoop(name: "store-test")
    var settings = RedisSettings()
    settings.port = server.port
    settings.reconnectDelay = .milliseconds(100)
    let client = RedisClient(name: "test", settings: settings, loop: loop)
    await client.start()
    let result: Result<Value, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    await client.close()
    loop.stop()
    return try result.get()
}

/// Everything that Redis holds of one lineage.
struct StoredState: Equatable, CustomStringConvertible {
    /// The locator's holder.
    var holder: Holder?
    /// Holders that the locator suspects of copies.
    var suspects: Set<Holder> = []
    /// Records found anywhere.
    var records: [Holder: [UInt8]] = [:]

    static func of(_ lineage: LineageID, in redis: RedisClient) async throws -> StoredState {
        var state = StoredState()
        let locator = try await redis.send(["HGETALL", .text(StorageLayout.locator(of: lineage))]).array ?? []
        for pair in stride(from: 0, to: locator.count - 1, by: 2) {
            let (name, value) = (locator[pair].string ?? "", locator[pair + 1].string ?? "")
            if name == "holder" { state.holder = Holder(id: value) }
            if name.hasPrefix("copy:"), let holder = Holder(id: String(name.dropFirst(5))) {
                state.suspects.insert(holder)
            }
        }
        // All holders of the app, not only those that the locator knows.
        let pattern = "hf:*:\(StorageLayout.scope(lineage.app, lineage.environment)):holder:*"
        for key in try await redis.send(["KEYS", .text(pattern)]).array ?? [] {
            let value = try await redis.send(["HGET", .text(key.string ?? ""), .text(StorageLayout.field(of: lineage))])
            guard let value = value.bytes, let id = key.string?.split(separator: ":holder:").last else { continue }
            guard let holder = Holder(id: String(id)) else { continue }
            state.records[holder] = Array(value.drop { $0 != UInt8(ascii: ":") }.dropFirst())
        }
        return state
    }

    var description: String {
        "holder \(holder?.id ?? "none"), suspects \(suspects), "
            + "records \(records.mapValues { String(decoding: $0, as: UTF8.self) })"
    }
}

/// Redis one of whose commands fails, before Redis sees it or after Redis carried it out; and before one of whose
/// commands somebody else may do something.
final class FaultyRedis: RedisCommands {
    enum Fault { case before, after }

    private let redis: RedisClient
    private let failing: Int
    private let fault: Fault
    private let meanwhile: (command: Int, body: @Sendable () async throws(RedisError) -> Void)?
    private let commands = Mutex(0)
    private let failed = Mutex(false)

    init(
        _ redis: RedisClient, failing number: Int, _ fault: Fault,
        meanwhile: (command: Int, body: @Sendable () async throws(RedisError) -> Void)? = nil
    ) {
        self.redis = redis
        self.failing = number
        self.fault = fault
        self.meanwhile = meanwhile
    }

    var hasFailed: Bool { failed.withLock { $0 } }

    func send(_ arguments: [RedisArgument]) async throws(RedisError) -> RedisReply {
        try await perform { () async throws(RedisError) in try await redis.send(arguments) }
    }

    func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(RedisError) -> RedisReply {
        try await perform { () async throws(RedisError) in
            try await redis.evaluate(script, keys: keys, arguments: arguments)
        }
    }

    private func perform(
        _ command: () async throws(RedisError) -> RedisReply
    ) async throws(RedisError) -> RedisReply {
        let number = commands.withLock { count in
            count += 1
            return count - 1
        }
        if let meanwhile, meanwhile.command == number { try await meanwhile.body() }
        guard number >= failing else { return try await command() }
        failed.withLock { $0 = true }
        if fault == .after { _ = try await command() }
        throw RedisError(.unreachable, "injected")
    }
}
