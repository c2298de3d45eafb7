internal import Redis
internal import Synchronization

/// Sees to it that nobody reads or writes with another layout than the one Redis was filled with: with another number of
/// partitions every customer would seem to be unknown.
///
/// The layout key also says which store this is: `<version> <partitions> <identity>`. A store that lost all its data
/// comes back with another identity.
final class LayoutGuard: Sendable {
    private let redis: any RedisCommands
    private let isVerified = Atomic(false)

    init(redis: any RedisCommands) { self.redis = redis }

    /// Asks Redis the first time only.
    func verify() async throws(StoreError) {
        guard !isVerified.load(ordering: .relaxed) else { return }
        _ = try await identity()
        isVerified.store(true, ordering: .relaxed)
    }

    /// Reads which store this is, and founds it when Redis is empty.
    func identity() async throws(StoreError) -> String {
        let proposal =
            "\(StorageLayout.version) \(StorageLayout.partitions) \(String(UInt64.random(in: .min ... .max), radix: 16))"
        let found: String
        do throws(RedisError) {
            let reply = try await redis.send(["SET", .text(StorageLayout.layoutKey), .text(proposal), "NX", "GET"])
            found = reply.string ?? proposal
        } catch {
            throw .redis(error)
        }
        let parts = found.split(separator: " ")
        guard parts.count == 3, parts[0] == "\(StorageLayout.version)", parts[1] == "\(StorageLayout.partitions)"
        else { throw .wrongLayout(found: found) }
        return String(parts[2])
    }
}
