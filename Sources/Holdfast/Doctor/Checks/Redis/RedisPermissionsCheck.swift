import CacheTier
import Redis

/// Whether the user may send what the store needs.
struct RedisPermissionsCheck: Check {
    let name = "redis permissions"
    let patient: Patient

    func examine() async -> Finding {
        let user = patient.settings.redis.user ?? "default"
        let remedy =
            "redis-cli ACL SETUSER \(user) \(StoreInspector.rights(in: patient.settings.redis).joined(separator: " "))"
        return await patient.withEachRedis { client throws(RedisError) in
            let forbidden: [String]
            do throws(RedisError) { forbidden = try await StoreInspector(redis: client).forbiddenCommands() } catch {
                guard error.code == .refused else { throw error }
                if error.message.hasPrefix("NOPERM") {
                    return .wrong("\(user) may not run scripts, without which nothing is written", remedy)
                }
                return .notChecked("Redis cannot be asked (\(error.message))")
            }
            guard !forbidden.isEmpty else { return .fine("\(user) may send all that the store needs") }
            return .wrong(
                "\(user) may not send \(forbidden.joined(separator: ", ")) for \(StoreInspector.keyPattern)", remedy)
        }
    }
}
