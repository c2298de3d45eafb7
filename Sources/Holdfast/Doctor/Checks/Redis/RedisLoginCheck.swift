import Redis

/// Whether Redis answers and lets us in.
struct RedisLoginCheck: Check {
    let name = "redis"
    let patient: Patient

    func examine() async -> Finding {
        let settings = patient.settings.redis
        let address =
            switch settings.mode {
            case .single: "\(settings.host):\(settings.port)"
            case .cluster: "the cluster of \(settings.seeds.map(\.description).joined(separator: ", "))"
            case .sentinel:
                "\(settings.masterName), as the sentinels \(settings.seeds.map(\.description).joined(separator: ", ")) say,"
            }
        let client: any RedisLink
        switch await patient.redis.answer() {
        case .success(let connected): client = connected
        case .failure(let error): return finding(error, address)
        }
        let start = ContinuousClock.now
        do throws(RedisError) { _ = try await client.send(["PING"], timeout: nil) } catch {
            if error.code != .refused { return finding(error, address) }
        }
        let took = ContinuousClock.now - start
        guard case .success(let servers) = await patient.redisServers.answer(), let first = servers.first else {
            return .fine("answers at \(address)")
        }
        let versions = servers.map { $0.info["redis_version"] ?? "?" }
        let version = versions.min { Version($0) < Version($1) } ?? first.info["redis_version"] ?? "?"
        guard Version(version) >= Version("7.0") else {
            return .wrong("Redis \(version) at \(address) is too old", "Redis 7 or newer.")
        }
        let masters = settings.mode == .cluster ? ", \(servers.count) masters" : ""
        return .fine("Redis \(version) at \(address)\(masters), answers after \(took.short)")
    }

    private func finding(_ error: RedisError, _ address: String) -> Finding {
        let message = error.message
        let user = patient.settings.redis.user ?? "default"
        if message.hasPrefix("WRONGPASS") {
            return .wrong(
                "\(address) does not take the user \(user) with this password",
                "Look at redis.user and redis.passwordFile.")
        }
        if message.hasPrefix("NOAUTH") {
            return .wrong("\(address) wants a password, and there is none in the settings", "Set redis.passwordFile.")
        }
        if message.contains("AUTH") && message.contains("without any password configured") {
            return .wrong(
                "the settings have a password for \(address), and Redis has none",
                "Set requirepass in Redis (redis-cli CONFIG SET requirepass …), or take redis.passwordFile away.")
        }
        if message.contains("DB index") {
            return .wrong("\(address) has no database \(patient.settings.redis.database)", "Look at redis.database.")
        }
        if message.hasPrefix("LOADING") {
            return .unreachable(
                "\(address) is loading its data after a start", "Wait; INFO persistence shows how far it is.")
        }
        if message.hasPrefix("DENIED") || message.hasPrefix("NOPERM") {
            return .wrong("\(address): \(message)", "Look at redis.user and Redis' protected-mode.")
        }
        return .unreachable(
            "\(address) does not answer: \(message.isEmpty ? "\(error.code)" : message)",
            "Is it running (systemctl status redis-server)? Are redis.host and redis.port right? Is a firewall between?",
            "Until it is back, notifications wait in RabbitMQ and reads are answered from memory (level A).")
    }
}
