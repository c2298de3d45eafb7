import Redis

/// Whether it is a Redis that takes writes.
struct RedisRoleCheck: Check {
    let name = "redis role"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withRedisServers { server throws(RedisError) in
            let info = server.info
            let settings = patient.settings.redis
            if info["cluster_enabled"] == "1", settings.mode != .cluster {
                return .wrong(
                    "it is a node of a Redis Cluster, and the settings take it for the only server",
                    "Set redis.mode to cluster, and redis.addresses to some of its nodes.")
            }
            guard info["role"] == "master" else {
                let master = "\(info["master_host"] ?? "?"):\(info["master_port"] ?? "?")"
                return .wrong(
                    "it is a replica of \(master) and takes no writes",
                    "Point redis.host at the master (\(master)), or promote this one: redis-cli REPLICAOF NO ONE")
            }
            let replicas = info.number("connected_slaves") ?? 0
            if replicas < settings.replicas {
                return .wrong(
                    "it has \(replicas) replicas and redis.replicas is \(settings.replicas): every write fails",
                    "Start the replicas that are missing, or lower redis.replicas.")
            }
            if replicas == 0, settings.mode != .single {
                return .warning(
                    "no replica follows it: when it fails, its data is out of reach until it is back",
                    "Add a replica: redis-cli --cluster add-node … --cluster-slave, or REPLICAOF.")
            }
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
