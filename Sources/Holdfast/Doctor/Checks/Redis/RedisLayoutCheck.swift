import CacheTier
import Redis

/// Whether what lies in Redis is a store of this version.
struct RedisLayoutCheck: Check {
    let name = "redis store"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withRedis { client throws(RedisError) in
            switch try await StoreInspector(redis: client).layout() {
            case .none: return .fine("empty; the first gateway or consumer founds it")
            case .fine(let identity): return .fine("there, identity \(identity)")
            case .wrong(let found):
                return .wrong(
                    "\(StoreInspector.layoutKey) says “\(found)”: another version's store, or somebody else's",
                    "Look at redis.host, redis.port and redis.database; or run the version that made it.")
            }
        }
    }
}
