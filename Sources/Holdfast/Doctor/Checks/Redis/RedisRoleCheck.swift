import Redis

/// Whether it is a Redis that takes writes.
struct RedisRoleCheck: Check {
    let name = "redis role"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withRedisInfo { info throws(RedisError) in
            if info["cluster_enabled"] == "1" {
                return .wrong(
                    "it is a node of a Redis Cluster, whose redirections Holdfast does not follow yet",
                    "Use a single Redis, with replicas if you like.")
            }
            guard info["role"] == "master" else {
                let master = "\(info["master_host"] ?? "?"):\(info["master_port"] ?? "?")"
                return .wrong(
                    "it is a replica of \(master) and takes no writes",
                    "Point redis.host at the master (\(master)), or promote this one: redis-cli REPLICAOF NO ONE")
            }
            let replicas = info.number("connected_slaves") ?? 0
            let (clients, limit) = (info.number("connected_clients") ?? 0, info.number("maxclients") ?? 10_000)
            if clients >= limit / 10 * 8 {
                return .warning(
                    "\(clients) of \(limit) clients are connected", "Raise maxclients, or see who they are: CLIENT LIST"
                )
            }
            return .fine(
                "master, \(replicas) \(replicas == 1 ? "replica" : "replicas"), \(clients) of \(limit) clients")
        }
    }
}
