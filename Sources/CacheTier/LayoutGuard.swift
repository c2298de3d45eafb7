internal import Redis
internal import Synchronization

/// Sees to it that nobody reads or writes with another layout than the one Redis was filled with: with another number of
/// partitions every customer would seem to be unknown.
///
/// The layout key also says which store this is: `<version> <partitions> <identity>`. A store that lost all its data
/// comes back with another identity. In a cluster each server may lose its own part, so there each partition has such a
/// key, and all of them together are the identity.
final class LayoutGuard: Sendable {
    private let redis: any RedisCommands
    private struct Known {
        /// The whole store's, as expected or seen last.
        var identity: String?
        /// What the key of each partition asked for said last; none before Redis was asked.
        var parts: [Int: String] = [:]
    }

    private let known = Mutex(Known())

    init(redis: any RedisCommands) { self.redis = redis }

    private var partitions: Range<Int> { redis.takesManySlots ? 0..<1 : 0..<StorageLayout.partitions }

    /// The store that was there before this process asked for the first time.
    func expect(_ identity: String) {
        known.withLock { if $0.identity == nil { $0.identity = identity } }
    }

    /// From now on this is the store that reads are compared with; what the servers said of it before counts no more.
    func follow(_ identity: String) {
        known.withLock { $0 = Known(identity: identity) }
    }

    /// Asks Redis the first time only; of another store than expected, `isSameStore` tells.
    func verify() async throws(StoreError) {
        guard known.withLock({ $0.parts.isEmpty }) else { return }
        let found = try await identities()
        known.withLock { known in
            known.parts = found
            if known.identity == nil { known.identity = Self.identity(of: found) }
        }
    }

    /// Asks Redis whether this is the store that was there when it was asked last; the first time it is. What matters is
    /// the server that has the partition.
    func isSameStore(at partition: Int) async throws(StoreError) -> Bool {
        try await verify()
        let asked = redis.takesManySlots ? 0 : partition
        let found = try await Self.identity(of: asked, redis)
        return known.withLock { known in
            known.parts[asked] = found
            let now = Self.identity(of: known.parts)
            let before = known.identity
            known.identity = now
            return before == nil || before == now
        }
    }

    /// Reads which store this is, and founds it when Redis is empty.
    func identity() async throws(StoreError) -> String { Self.identity(of: try await identities()) }

    /// Short enough for a log line: the first one, and what tells these from any others.
    private static func identity(of parts: [Int: String]) -> String {
        let identities = parts.sorted { $0.key < $1.key }.map(\.value)
        guard let first = identities.first, identities.count > 1 else { return identities.joined() }
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in identities.joined(separator: " ").utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return "\(first)-\(String(hash, radix: 16))"
    }

    private func identities() async throws(StoreError) -> [Int: String] {
        let partitions = Array(partitions)
        let found = try await StoreLink(redis: redis).each(partitions) { (link, partition) async throws(StoreError) in
            try await Self.identity(of: partition, link.redis)
        }
        return Dictionary(zip(partitions, found)) { first, _ in first }
    }

    /// It is written only when there is none, so that a Redis that takes no writes (a full one, a replica) can be read.
    private static func identity(of partition: Int, _ redis: any RedisCommands) async throws(StoreError) -> String {
        let found: String
        do throws(RedisError) {
            let key = StorageLayout.layoutKey(of: partition)
            if let layout = try await redis.send(["GET", .text(key)]).string {
                found = layout
            } else {
                found = try await proposed(key, redis)
            }
        } catch {
            if error.isWrongType { throw .wrongLayout(found: error.message) }
            throw .redis(error)
        }
        let parts = found.split(separator: " ")
        guard parts.count == 3, parts[0] == "\(StorageLayout.version)", parts[1] == "\(StorageLayout.partitions)"
        else { throw .wrongLayout(found: found) }
        return String(parts[2])
    }

    /// Founds the store, unless somebody was faster; returns what is there then.
    private static func proposed(_ key: String, _ redis: any RedisCommands) async throws(RedisError) -> String {
        let identity = String(UInt64.random(in: .min ... .max), radix: 16)
        let proposal = "\(StorageLayout.version) \(StorageLayout.partitions) \(identity)"
        let reply = try await redis.send(["SET", .text(key), .text(proposal), "NX", "GET"])
        return reply.string ?? proposal
    }
}
