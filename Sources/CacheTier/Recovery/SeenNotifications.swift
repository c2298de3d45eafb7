package import Entitlements
package import Redis
package import Runtime
package import Time

/// Remembers, by their UUIDs, the notifications that consumers have settled: applied, noted or put into quarantine.
///
/// What Apple lists in the notification history can so be told from what came by itself. Bounded by age and number, so a
/// notification is *known*, *new*, or older than what is remembered. All of this is for figures, and to keep what is known
/// from going through the line once more: going through it twice harms nothing.
package struct SeenNotifications: Sendable {
    package enum Verdict: Sendable, Hashable {
        case known
        case new
        /// Nobody remembers so far back.
        case beyondMemory
    }

    package struct Listed: Sendable, Hashable {
        package let uuid: String
        package let signedDate: Timestamp
        package init(uuid: String, signedDate: Timestamp) {
            self.uuid = uuid
            self.signedDate = signedDate
        }
    }

    private let redis: any RedisCommands
    private let kept: Duration
    private let bound: Int
    private let clock: WallClock

    package init(
        redis: any RedisCommands, settings: RecoverySettings = RecoverySettings(), clock: WallClock = .system
    ) {
        self.redis = redis
        self.clock = clock
        kept = settings.seenKept
        bound = max(1, settings.seenMaximum / StorageLayout.seenSets)
    }

    /// Notes that remembering begins, if it has not yet: what was signed before cannot be called new.
    package func begin(_ app: AppID, _ environment: StoreEnvironment) async throws(StoreError) {
        let key = StorageLayout.recovery(app, environment)
        _ = try await StoreLink(redis: redis).send(
            "HSETNX", key, ["began", RedisArgument(clock.now().milliseconds)])
    }

    package func note(
        _ notification: String, of app: AppID, in environment: StoreEnvironment
    ) async throws(StoreError) {
        let now = clock.now()
        _ = try await StoreLink(redis: redis).evaluate(
            SeenScripts.note, keys: [StorageLayout.seen(notification, app, environment)],
            arguments: [
                .text(notification), RedisArgument(now.milliseconds), RedisArgument((now - kept).milliseconds),
                RedisArgument(bound),
            ])
    }

    /// What is remembered of each of `listed`, in their order.
    package func verdicts(
        on listed: [Listed], of app: AppID, in environment: StoreEnvironment
    ) async throws(StoreError) -> [Verdict] {
        let link = StoreLink(redis: redis)
        let began = try await link.send("HGET", StorageLayout.recovery(app, environment), ["began"]).string
            .flatMap { Int64($0) }.map(Timestamp.init(milliseconds:))
        guard let began else { return listed.map { _ in .beyondMemory } }
        let since = max(began, clock.now() - kept)
        let sets = Dictionary(grouping: listed.indices) { StorageLayout.seen(listed[$0].uuid, app, environment) }
        let (redis, bound) = (redis, bound)
        let answers = try await link.each(Array(sets)) { (link, set) async throws(StoreError) in
            let reply: RedisReply
            do throws(RedisError) {
                reply = try await redis.evaluate(
                    SeenScripts.look, keys: [set.key], arguments: set.value.map { .text(listed[$0].uuid) })
            } catch { throw .redis(error) }
            guard let values = reply.array, values.count == set.value.count + 2, let count = values[0].integer else {
                throw .redis(RedisError(.unexpectedReply, set.key))
            }
            // A full set has let go of all that is older than its oldest.
            let oldest = values[1].string.flatMap(Double.init).flatMap { Int64(exactly: $0.rounded()) }
            let from = count >= bound ? max(since, Timestamp(milliseconds: oldest ?? .max)) : since
            var found: [Int: Verdict] = [:]
            for (index, isThere) in zip(set.value, values.dropFirst(2)) {
                let isOld = listed[index].signedDate < from
                found[index] = isThere.integer == 1 ? .known : isOld ? .beyondMemory : .new
            }
            return found
        }
        var found: [Int: Verdict] = [:]
        for answer in answers { found.merge(answer) { first, _ in first } }
        return listed.indices.map { found[$0] ?? .beyondMemory }
    }

    /// Whether one is remembered.
    package func knows(
        _ notification: String, of app: AppID, in environment: StoreEnvironment
    ) async throws(StoreError) -> Bool {
        try await settledAt(notification, of: app, in: environment) != nil
    }

    /// When one was settled last; nil for one that is not remembered.
    package func settledAt(
        _ notification: String, of app: AppID, in environment: StoreEnvironment
    ) async throws(StoreError) -> Timestamp? {
        let key = StorageLayout.seen(notification, app, environment)
        let score = try await StoreLink(redis: redis).send("ZSCORE", key, [.text(notification)]).string
        return score.flatMap(Double.init).flatMap { Int64(exactly: $0.rounded()) }.map(Timestamp.init(milliseconds:))
    }
}

private enum SeenScripts {
    /// KEYS: seen. ARGV: UUID, now, the oldest time that is kept, bound.
    static let note = RedisScript(
        """
        redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[3])
        local excess = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[4])
        if excess > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, excess - 1) end
        return 1
        """)

    /// How many there are, the time of the oldest, and for each UUID whether it is there.
    /// KEYS: seen. ARGV: UUIDs.
    static let look = RedisScript(
        """
        local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
        local found = {redis.call('ZCARD', KEYS[1]), oldest[2] or ''}
        for i = 1, #ARGV do
            if redis.call('ZSCORE', KEYS[1], ARGV[i]) then found[i + 2] = 1 else found[i + 2] = 0 end
        end
        return found
        """)
}
