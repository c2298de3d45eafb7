import Redis

/// Whether what Redis has answered is on its disk: the consumer acknowledges a notification after that.
struct RedisPersistenceCheck: Check {
    let name = "redis persistence"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withRedisServers { server throws(RedisError) in
            let own = try await Self.finding(server.info, server.commands)
            var findings = [own]
            for replica in server.replicas { findings.append(await self.finding(ofReplica: replica)) }
            return .of(findings, otherwise: own.sentence)
        }
    }

    /// After a failover a replica's disk is the one that counts.
    private func finding(ofReplica address: RedisAddress) async -> Finding {
        await patient.withRedis(at: address) { client throws(RedisError) in
            let info = RedisInfo(try await client.send(["INFO"]).string ?? "")
            return try await Self.finding(info, client).at("replica \(address)")
        }
    }

    private static func finding(
        _ info: RedisInfo, _ server: any RedisCommands
    ) async throws(RedisError) -> Finding {
        guard info.number("aof_enabled") == 1 else {
            return .wrong(
                "appendonly is no: what was applied is lost when Redis ends",
                "redis-cli CONFIG SET appendonly yes; redis-cli CONFIG REWRITE")
        }
        if info["aof_last_write_status"] == "err" {
            return .wrong("Redis cannot write its append-only file", "Is its disk full or broken? See Redis' log.")
        }
        if info["rdb_last_bgsave_status"] == "err" {
            return .wrong(
                "Redis could not save a snapshot, and may refuse writes for it (MISCONF)",
                "Is its disk full? No snapshots are needed: redis-cli CONFIG SET save ''; redis-cli CONFIG REWRITE")
        }
        if info["aof_last_bgrewrite_status"] == "err" {
            return .warning(
                "Redis could not rewrite its append-only file, which grows meanwhile",
                "Room on its disk; vm.overcommit_memory = 1 on its machine. See Redis' log.")
        }
        return try await sync(server)
    }

    private static func sync(_ client: any RedisCommands) async throws(RedisError) -> Finding {
        let reply: RedisReply
        do throws(RedisError) {
            reply = try await client.send(["CONFIG", "GET", "appendfsync"])
        } catch {
            guard error.code == .refused else { throw error }
            return .warning(
                "appendonly is yes; whether appendfsync is always cannot be seen (\(error.message))",
                "Make sure of it: grep appendfsync redis.conf")
        }
        guard let value = reply.array?.last?.string, value != "always" else {
            return .fine("appendonly yes, appendfsync always")
        }
        return .wrong(
            "appendfsync is \(value): what was applied \(value == "no" ? "lately" : "in the last second") is lost when its "
                + "machine fails",
            "redis-cli CONFIG SET appendfsync always; redis-cli CONFIG REWRITE")
    }
}
