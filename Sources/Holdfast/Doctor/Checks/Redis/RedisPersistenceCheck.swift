import Redis

/// Whether what Redis has answered is on its disk: the consumer acknowledges a notification after that.
struct RedisPersistenceCheck: Check {
    let name = "redis persistence"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withRedisInfo { info throws(RedisError) in
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
            return try await sync()
        }
    }

    private func sync() async throws(RedisError) -> Finding {
        let client = try await patient.redis.answer().get()
        let reply: RedisReply
        do throws(RedisError) {
            reply = try await client.send(["CONFIG", "GET", "appendfsync"], timeout: nil)
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
