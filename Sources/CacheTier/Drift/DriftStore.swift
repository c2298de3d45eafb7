package import AppStore
package import Entitlements
package import Redis
package import Time

/// What Apple answered and we did not know, in Redis: a bounded list, what of it is still to be examined, and how often which
/// cause was found.
///
/// One to be examined is taken by moving its time on by a lease, so that another consumer gets to it when this one dies.
package struct DriftStore: Sendable {
    /// How often a cause was found, by field.
    package struct Count: Sendable, Hashable {
        package let field: Drift.Field
        package let cause: Drift.Cause
        package let count: UInt64
    }

    private let link: StoreLink
    private let kept: Int

    package init(redis: any RedisCommands, settings: DriftSettings = DriftSettings()) {
        link = StoreLink(redis: redis)
        kept = max(1, settings.kept)
    }

    /// Enters one, to be examined at `due`; one that is there already stays as it is. False when it was there.
    @discardableResult
    package func note(_ drift: Drift, due: Timestamp) async throws(StoreError) -> Bool {
        try await link.evaluate(
            DriftScripts.note, keys: keys(drift.lineage.app, drift.lineage.environment),
            arguments: [
                .text(drift.id), .bytes(drift.bytes), RedisArgument(drift.foundAt.milliseconds),
                RedisArgument(due.milliseconds), RedisArgument(kept),
            ]) != nil
    }

    /// Takes up to `limit` that are to be examined by `now`, for as long as `lease`.
    package func take(
        _ app: AppID, _ environment: StoreEnvironment, at now: Timestamp, limit: Int, lease: Duration
    ) async throws(StoreError) -> [Drift] {
        let reply: RedisReply
        do throws(RedisError) {
            reply = try await link.redis.evaluate(
                DriftScripts.take, keys: keys(app, environment),
                arguments: [
                    RedisArgument(now.milliseconds), RedisArgument((now + lease).milliseconds), RedisArgument(limit),
                ])
        } catch { throw .redis(error) }
        return drifts(reply, app)
    }

    /// Puts one off that could not be examined now.
    package func putOff(_ drift: Drift, until due: Timestamp) async throws(StoreError) {
        _ = try await link.evaluate(
            DriftScripts.putOff, keys: keys(drift.lineage.app, drift.lineage.environment),
            arguments: [.text(drift.id), RedisArgument(due.milliseconds)])
    }

    /// Enters what was found out about one, and counts it. False when somebody else has done it.
    package func settle(_ drift: Drift) async throws(StoreError) -> Bool {
        let counters = drift.differences.compactMap { difference in
            difference.cause.map { RedisArgument.text("\(difference.field.rawValue):\($0.rawValue)") }
        }
        return try await link.evaluate(
            DriftScripts.settle, keys: keys(drift.lineage.app, drift.lineage.environment),
            arguments: [.text(drift.id), .bytes(drift.bytes)] + counters) != nil
    }

    // MARK: Reading

    /// The newest first.
    package func list(
        _ app: AppID, _ environment: StoreEnvironment, limit: Int
    ) async throws(StoreError) -> [Drift] {
        let reply: RedisReply
        do throws(RedisError) {
            reply = try await link.redis.evaluate(
                DriftScripts.list, keys: keys(app, environment),
                arguments: [RedisArgument(min(max(1, limit), kept))])
        } catch { throw .redis(error) }
        return drifts(reply, app)
    }

    /// Since the beginning, sorted.
    package func counts(_ app: AppID, _ environment: StoreEnvironment) async throws(StoreError) -> [Count] {
        let fields = try await link.send("HGETALL", StorageLayout.driftCounts(app, environment)).array ?? []
        var counts: [Count] = []
        for pair in stride(from: 0, to: fields.count - 1, by: 2) {
            guard let names = fields[pair].string?.split(separator: ":"), names.count == 2,
                let field = Drift.Field(rawValue: String(names[0])),
                let cause = Drift.Cause(rawValue: String(names[1])),
                let count = fields[pair + 1].string.flatMap({ UInt64($0) })
            else { continue }
            counts.append(Count(field: field, cause: cause, count: count))
        }
        return counts.sorted { ($0.field.rawValue, $0.cause.rawValue) < ($1.field.rawValue, $1.cause.rawValue) }
    }

    /// How many are still to be examined.
    package func openCount(_ app: AppID, _ environment: StoreEnvironment) async throws(StoreError) -> Int {
        Int(clamping: try await link.send("ZCARD", StorageLayout.driftOpen(app, environment)).integer ?? 0)
    }

    private func keys(_ app: AppID, _ environment: StoreEnvironment) -> [String] {
        [
            StorageLayout.drift(app, environment), StorageLayout.driftOrder(app, environment),
            StorageLayout.driftOpen(app, environment), StorageLayout.driftCounts(app, environment),
        ]
    }

    private func drifts(_ reply: RedisReply, _ app: AppID) -> [Drift] {
        (reply.array ?? []).compactMap { $0.bytes.flatMap { Drift($0, app: app) } }
    }
}

/// KEYS of all: hash of what was found, its order by time, what is to be examined by when, counts.
private enum DriftScripts {
    /// ARGV: id, value, found at, due, bound.
    static let note = RedisScript(
        """
        if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 0 end
        redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
        redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
        redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
        local excess = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[5])
        if excess > 0 then
            for _, old in ipairs(redis.call('ZRANGE', KEYS[2], 0, excess - 1)) do
                redis.call('ZREM', KEYS[3], old)
                redis.call('HDEL', KEYS[1], old)
                redis.call('ZREM', KEYS[2], old)
            end
        end
        return 1
        """)

    /// ARGV: now, until when they are taken, how many.
    static let take = RedisScript(
        """
        local found = {}
        for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])) do
            redis.call('ZADD', KEYS[3], ARGV[2], id)
            local value = redis.call('HGET', KEYS[1], id)
            if value then found[#found + 1] = value else redis.call('ZREM', KEYS[3], id) end
        end
        return found
        """, isOfRecord: false)

    /// ARGV: id, due.
    static let putOff = RedisScript(
        """
        if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then return 0 end
        redis.call('ZADD', KEYS[3], ARGV[2], ARGV[1])
        return 1
        """, isOfRecord: false)

    /// ARGV: id, value, counters.
    static let settle = RedisScript(
        """
        if redis.call('ZREM', KEYS[3], ARGV[1]) == 0 then return 0 end
        redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
        for i = 3, #ARGV do redis.call('HINCRBY', KEYS[4], ARGV[i], 1) end
        return 1
        """)

    /// ARGV: how many.
    static let list = RedisScript(
        """
        local found = {}
        local ids = redis.call('ZRANGE', KEYS[2], -tonumber(ARGV[1]), -1)
        for i = #ids, 1, -1 do
            local value = redis.call('HGET', KEYS[1], ids[i])
            if value then found[#found + 1] = value end
        end
        return found
        """, isOfRecord: false)
}
