internal import Redis
internal import Synchronization

/// Sees to it that nobody reads or writes with another layout than the one Redis was filled with: with another number of
/// partitions every customer would seem to be unknown.
///
/// The layout key also says which store this is: `<version> <partitions> <identity>`. A store that lost all its data
/// comes back with another identity.
final class LayoutGuard: Sendable {
    private let redis: any RedisCommands
    private struct Known {
        var identity: String?
        /// Whether Redis was asked.
        var isVerified = false
    }

    private let known = Mutex(Known())

    init(redis: any RedisCommands) { self.redis = redis }

    /// The store that was there before this process asked for the first time.
    func expect(_ identity: String) {
        known.withLock { if $0.identity == nil { $0.identity = identity } }
    }

    /// Asks Redis the first time only; of another store than expected, `isSameStore` tells.
    func verify() async throws(StoreError) {
        guard !known.withLock({ $0.isVerified }) else { return }
        let found = try await identity()
        known.withLock { known in
            known.isVerified = true
            if known.identity == nil { known.identity = found }
        }
    }

    /// Asks Redis whether this is the store that was there when it was asked last; the first time it is.
    func isSameStore() async throws(StoreError) -> Bool {
        let found = try await identity()
        return known.withLock { known in
            let before = known.identity
            known = Known(identity: found, isVerified: true)
            return before == nil || before == found
        }
    }

    /// Reads which store this is, and founds it when Redis is empty.
    ///
    /// It is written only when there is none, so that a Redis that takes no writes (a full one, a replica) can be read.
    func identity() async throws(StoreError) -> String {
        let found: String
        do throws(RedisError) {
            if let layout = try await redis.send(["GET", .text(StorageLayout.layoutKey)]).string {
                found = layout
            } else {
                found = try await proposed()
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
    private func proposed() async throws(RedisError) -> String {
        let identity = String(UInt64.random(in: .min ... .max), radix: 16)
        let proposal = "\(StorageLayout.version) \(StorageLayout.partitions) \(identity)"
        let reply = try await redis.send(["SET", .text(StorageLayout.layoutKey), .text(proposal), "NX", "GET"])
        return reply.string ?? proposal
    }
}
