internal import Entitlements
package import Redis

/// Looks whether Redis can hold the store, without writing anything: for operators.
package struct StoreInspector: Sendable {
    private let redis: any RedisCommands

    package init(redis: any RedisCommands) { self.redis = redis }

    package enum Layout: Sendable, Hashable {
        /// Redis holds no store yet; the first process that needs one founds it.
        case none
        /// The store with this identity.
        case fine(identity: String)
        /// Somebody else's, or another version's; what was found.
        case wrong(String)
    }

    package static var layoutKey: String { StorageLayout.layoutKey }
    /// What every key begins with.
    package static let keyPattern = "hf:*"

    package func layout() async throws(RedisError) -> Layout {
        let reply: RedisReply
        do throws(RedisError) {
            reply = try await redis.send(["GET", .text(StorageLayout.layoutKey)])
        } catch {
            if error.isWrongType { return .wrong(error.message) }
            throw error
        }
        guard let found = reply.string else { return .none }
        let parts = found.split(separator: " ")
        guard parts.count == 3, parts[0] == "\(StorageLayout.version)", parts[1] == "\(StorageLayout.partitions)"
        else { return .wrong(found) }
        return .fine(identity: String(parts[2]))
    }

    /// What an ACL user must be allowed, and nothing else: as `ACL SETUSER` takes it.
    package static func rights(in settings: RedisSettings) -> [String] {
        var commands: [String] = []
        for words in Self.commands where !commands.contains(words[0].lowercased()) {
            commands.append(words[0].lowercased())
        }
        // Not about keys: what the link and whoever looks at it send.
        var link = ["ping", "info", "time"]
        switch settings.mode {
        case .single: break
        case .cluster: link += ["cluster|slots", "cluster|info", "cluster|nodes", "asking"]
        case .sentinel: link.append("role")
        }
        if settings.database != 0 { link.append("select") }
        if settings.replicas > 0 { link.append("wait") }
        return ["'~\(keyPattern)'"] + (commands + link).map { $0 == "xinfo" ? "+xinfo|stream" : "+\($0)" }
    }

    /// The commands that the store needs and the user may not send, with the key they were judged for.
    ///
    /// A script asks Redis, which runs nothing of it (`redis.acl_check_cmd`, Redis 7).
    package func forbiddenCommands() async throws(RedisError) -> [String] {
        let words = Self.commands.map { RedisArgument($0.joined(separator: "\t")) }
        let reply = try await redis.send(["EVAL", .text(Self.judging), "0"] + words)
        return (reply.array ?? []).compactMap(\.string)
    }

    private static let judging = """
        local forbidden = {}
        for _, line in ipairs(ARGV) do
            local words = {}
            for word in string.gmatch(line, '[^\\t]+') do words[#words + 1] = word end
            if not redis.acl_check_cmd(unpack(words)) then forbidden[#forbidden + 1] = words[1] end
        end
        return forbidden
        """

    /// What the store, its scripts and the change feed send, each with a key of this layout.
    private static let commands: [[String]] = {
        let (maps, lease) = ("hf:{p00}:doctor:maps", "hf:{p00}:doctor:maps:lease")
        let (holder, changes) = (StorageLayout.key("doctor:p:holder:nobody"), StorageLayout.changeStreams[0])
        let nobody = LineageID(app: AppID("doctor"), environment: .production, originalTransactionID: "0")
        let history = StorageLayout.history(of: nobody, holder: .customer("nobody"), at: "doctor:p:holder:nobody")
        let index = StorageLayout.unclaimedIndex(nobody.app, .production, partition: 0)
        return [
            ["GET", StorageLayout.layoutKey], ["SET", StorageLayout.layoutKey, "1"], ["HGET", holder, "rev"],
            ["HGETALL", holder], ["HMGET", holder, "rev"], ["HSET", holder, "rev", "1"], ["HDEL", holder, "rev"],
            ["HINCRBY", holder, "rev", "1"], ["RPUSH", history, "e"],
            ["LTRIM", history, "-1", "-1"], ["LRANGE", history, "0", "-1"],
            ["HSETNX", holder, "rev", "1"],
            ["ZADD", index, "NX", "0", "m"], ["ZREM", index, "m"], ["ZCARD", index], ["ZCOUNT", index, "0", "1"],
            ["ZSCORE", index, "m"], ["ZRANGE", index, "0", "0"],
            ["ZRANGEBYSCORE", index, "0", "+inf", "LIMIT", "0", "1"],
            ["ZREMRANGEBYSCORE", index, "0", "1"], ["ZREMRANGEBYRANK", index, "0", "0"],
            ["XADD", changes, "*", "k", "v"],
            ["XREAD", "COUNT", "1", "BLOCK", "1", "STREAMS", changes, "0"], ["XINFO", "STREAM", changes],
            ["HKEYS", maps], ["HEXISTS", maps, "d:0"], ["HLEN", maps], ["SCAN", "0"], ["PEXPIRE", lease, "1"],
            ["PTTL", lease], ["DEL", lease],
            ["EVALSHA", String(repeating: "0", count: 40), "1", holder], ["EVAL", "return 1", "1", holder],
        ]
    }()
}
