import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport

@testable import CacheTier

/// Gives `body` a connected link to what the tests share, and closes it afterwards.
func withRedis<Value>(
    _ store: TestStore, _ body: (any RedisLink) async throws -> Value
) async throws -> Value {
    let loop = try EventLoop(name: "store-test")
    let link = store.connector(loop: loop).link("test")
    await link.start()
    let result: Result<Value, any Error>
    do { result = .success(try await body(link)) } catch { result = .failure(error) }
    await link.close()
    loop.stop()
    return try result.get()
}

/// The same for a Redis of the test's own.
func withRedis<Value>(
    _ server: RedisServer, _ body: (any RedisLink) async throws -> Value
) async throws -> Value {
    try await withRedis(TestStore.redis(server), body)
}

extension LineageStore {
    /// Applies news that was verified the moment it was signed.
    func apply(_ observation: Observation) async throws(StoreError) -> AppliedChange {
        try await apply(observation, cause: .other, at: observation.signedDate)
    }
}

/// The histories that Redis holds of one lineage, by holder, as they are stored.
func storedHistories(_ lineage: LineageID, in redis: any RedisLink) async throws -> [Holder: [[UInt8]]] {
    var histories: [Holder: [[UInt8]]] = [:]
    let scope = StorageLayout.scope(lineage.app, lineage.environment)
    let suffix = ":\(StorageLayout.escaped(lineage.originalTransactionID))"
    for key in try await keys("hf:*:\(scope):history:*\(suffix)", in: redis) {
        guard let start = key.firstRange(of: ":history:") else { continue }
        guard let holder = Holder(id: String(key[start.upperBound...].dropLast(suffix.count))) else { continue }
        let lines = try await redis.send(["LRANGE", .text(key), "0", "-1"]).array ?? []
        histories[holder] = lines.compactMap(\.bytes)
    }
    return histories
}

/// The names of all keys that match, on whatever server.
func keys(_ pattern: String, in redis: any RedisCommands) async throws -> [String] {
    var found: [String] = []
    for part in try await redis.parts() {
        found += (try await part.send(["KEYS", .text(pattern)]).array ?? []).compactMap(\.string)
    }
    return found
}

/// Everything that Redis holds of one lineage.
struct StoredState: Equatable, CustomStringConvertible {
    /// The locator's holders.
    var holders: [Holder] = []
    /// Holders that the locator suspects of copies.
    var suspects: Set<Holder> = []
    /// Whether the locator notes something accepted that may not be everywhere.
    var hasNews = false
    /// Records found anywhere.
    var records: [Holder: [UInt8]] = [:]

    init() {}

    /// What is left when nothing is under way.
    init(_ record: LineageRecord, of customers: String...) {
        holders = customers.map { .customer($0) }.sorted()
        records = Dictionary(uniqueKeysWithValues: holders.map { ($0, record.encoded()) })
    }

    static func of(_ lineage: LineageID, in redis: any RedisLink) async throws -> StoredState {
        var state = StoredState()
        let locator = try await redis.send(["HGETALL", .text(StorageLayout.locator(of: lineage))]).array ?? []
        for pair in stride(from: 0, to: locator.count - 1, by: 2) {
            let (name, value) = (locator[pair].string ?? "", locator[pair + 1].string ?? "")
            if name == "holder" { state.holders = value.split(separator: " ").compactMap { Holder(id: String($0)) } }
            if name == "news" { state.hasNews = true }
            if name.hasPrefix("copy:"), let holder = Holder(id: String(name.dropFirst(5))) {
                state.suspects.insert(holder)
            }
        }
        // All holders of the app, not only those that the locator knows.
        let pattern = "hf:*:\(StorageLayout.scope(lineage.app, lineage.environment)):holder:*"
        for key in try await keys(pattern, in: redis) {
            let value = try await redis.send(["HGET", .text(key), .text(StorageLayout.field(of: lineage))])
            guard let value = value.bytes, let id = key.split(separator: ":holder:").last else { continue }
            guard let holder = Holder(id: String(id)) else { continue }
            state.records[holder] = Array(value.drop { $0 != UInt8(ascii: ":") }.dropFirst())
        }
        return state
    }

    var description: String {
        "holders \(holders), suspects \(suspects), "
            + "records \(records.mapValues { String(decoding: $0, as: UTF8.self) })"
    }
}

/// Redis one of whose commands fails, before Redis sees it or after Redis carried it out; and before one of whose
/// commands somebody else may do something.
final class FaultyRedis: RedisCommands {
    enum Fault { case before, after }

    private let redis: any RedisLink
    private let failing: Int
    private let fault: Fault
    private let meanwhile: (command: Int, body: @Sendable () async throws(RedisError) -> Void)?
    private let commands = Mutex(0)
    private let failed = Mutex(false)

    init(
        _ redis: any RedisLink, failing number: Int, _ fault: Fault,
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
