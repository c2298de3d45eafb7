package import Entitlements
package import Redis
package import Time

/// Keeps in Redis when Apple's notifications came (`ArrivalHours`), shared by all consumers.
package struct Arrivals: Sendable {
    private let link: StoreLink

    package init(redis: any RedisCommands) { link = StoreLink(redis: redis) }

    /// Notes that one came at `instant`. Out of order, or several in one minute: the newest counts.
    package func note(
        at instant: Timestamp, of app: AppID, in environment: StoreEnvironment
    ) async throws(StoreError) {
        let hour = ArrivalHours.hour(of: instant)
        _ = try await link.evaluate(
            ArrivalScripts.note, keys: [StorageLayout.arrivals(app, environment)],
            arguments: [
                RedisArgument(max(0, instant.milliseconds)), RedisArgument(hour),
                RedisArgument(hour - ArrivalHours.kept),
            ])
    }

    /// Nil when none ever came.
    package func hours(of app: AppID, in environment: StoreEnvironment) async throws(StoreError) -> ArrivalHours? {
        let fields = try await link.send("HGETALL", StorageLayout.arrivals(app, environment)).array ?? []
        var (first, last): (Timestamp?, Timestamp?)
        var minutes: [Int64: Int] = [:]
        for pair in stride(from: 0, to: fields.count - 1, by: 2) {
            guard let name = fields[pair].string, let value = fields[pair + 1].string.flatMap({ Int64($0) }) else {
                continue
            }
            switch name {
            case "first": first = Timestamp(milliseconds: value)
            case "last": last = Timestamp(milliseconds: value)
            default: if let hour = Int64(name) { minutes[hour] = Int(clamping: value) }
            }
        }
        guard let last else { return nil }
        return ArrivalHours(first: first ?? last, last: last, minutes: minutes)
    }
}

private enum ArrivalScripts {
    /// The fields of the hash are `first`, `last` and the hours; those that are too old go when an hour is entered.
    /// KEYS: hash. ARGV: milliseconds, hour, the oldest hour that is kept.
    static let note = RedisScript(
        """
        local at, last = tonumber(ARGV[1]), tonumber(redis.call('HGET', KEYS[1], 'last') or '-1')
        if at <= last then return 0 end
        if last < 0 then redis.call('HSET', KEYS[1], 'first', ARGV[1]) end
        redis.call('HSET', KEYS[1], 'last', ARGV[1])
        if math.floor(at / 60000) == math.floor(last / 60000) then return 1 end
        if redis.call('HINCRBY', KEYS[1], ARGV[2], 1) > 1 then return 1 end
        for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
            local hour = tonumber(field)
            if hour and hour < tonumber(ARGV[3]) then redis.call('HDEL', KEYS[1], field) end
        end
        return 1
        """, isOfRecord: false)
}
